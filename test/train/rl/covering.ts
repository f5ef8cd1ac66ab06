/**
 * Covering arrays with constraints: few rows in which every pair of levels of two factors occurs together, each row one that
 * `accepts`. Greedy, and the same rows every time. Pure.
 */
export type Row = readonly number[]

export interface Pair {
  readonly factors: readonly [number, number]
  readonly levels: readonly [number, number]
}

export interface Covering {
  readonly rows: readonly Row[]
  /** Pairs for which no row was found that is accepted. */
  readonly refused: readonly Pair[]
}

/** How many rows are drawn at random for a level or a pair before it counts as refused. */
const draws = 100

/** `sizes`: how many levels each factor has; level 0 is the one that asks for nothing. */
export function coverPairs(sizes: readonly number[], accepts: (row: Row) => boolean): Covering {
  const random = numbers(7)
  const known = new Map<string, boolean>()
  const accepted = (row: Row): boolean => {
    const key = row.join()
    const before = known.get(key)
    if (before !== undefined) return before
    const found = !pairsOf(row).some(pair => refused.has(nameOf(pair))) && accepts(row)
    known.set(key, found)
    return found
  }
  const refused = new Map<string, Pair>()
  const open = new Map(allPairs(sizes).map(pair => [nameOf(pair), pair]))
  const rows: Row[] = []
  // For each level a row that is accepted with it: what it needs beside itself.
  const alone = sizes.map((size, factor) => Array.from({ length: size }, (_, level) => rowWith([[factor, level]])))
  for (const [name, pair] of open) {
    const begun = acceptedRow(pair)
    if (!begun) {
      refused.set(name, pair)
      open.delete(name)
      continue
    }
    const row = filledUp(begun, pair)
    rows.push(row)
    for (const covered of pairsOf(row)) open.delete(nameOf(covered))
  }
  return { rows, refused: [...refused.values()] }

  /** A row with the pair in it: nothing else asked for, what both of them need, or what chance finds. */
  function acceptedRow({ factors: [a, b], levels: [level, other] }: Pair): Row | undefined {
    const [first, second] = [alone[a]![level], alone[b]![other]]
    // A level that is refused by itself is refused with any other.
    if (!first || !second) return undefined
    return rowWith(
      [
        [a, level],
        [b, other],
      ],
      [first.map((own, factor) => own || second[factor]!), second.map((own, factor) => own || first[factor]!)],
    )
  }

  function rowWith(fixed: readonly (readonly [number, number])[], tried: readonly Row[] = []): Row | undefined {
    const fix = (row: Row): Row => fixed.reduce((all, [factor, level]) => all.with(factor, level), [...row])
    const blank = sizes.map(() => 0)
    const wanted = [blank, ...tried].map(fix).find(accepted)
    if (wanted) return wanted
    for (let draw = 0; draw < draws; draw++) {
      // More and more of the other factors ask for something.
      const [from, share] = [tried[draw % (tried.length || 1)] ?? blank, draw / draws]
      const row = fix(from.map((level, factor) => (random() < share ? Math.floor(random() * sizes[factor]!) : level)))
      if (accepted(row)) return needed(row, fixed)
    }
    return undefined
  }

  /** Without what is not needed for the row to be accepted. */
  function needed(row: Row, fixed: readonly (readonly [number, number])[]): Row {
    const others = sizes.map((_, factor) => factor).filter(factor => !fixed.some(([one]) => one === factor))
    return others.reduce((least, factor) => {
      const less = least.with(factor, 0)
      return accepted(less) ? less : least
    }, row)
  }

  /** The other factors one after another: of their levels the one that covers most, among those that are accepted. */
  function filledUp(begun: Row, { factors }: Pair): Row {
    let row = [...begun]
    const others = sizes.map((_, factor) => factor).filter(factor => !factors.includes(factor))
    for (const factor of shuffled(others)) {
      const gain = (level: number): number =>
        row.filter((of, other) => other !== factor && open.has(nameOf(pairAt(factor, level, other, of)))).length
      const candidates = shuffled(Array.from({ length: sizes[factor]! }, (_, level) => level))
        .map(level => ({ level, gain: gain(level) }))
        .sort((a, b) => b.gain - a.gain)
      const best = candidates.map(({ level }) => row.with(factor, level)).find(accepted)
      row = best ?? row
    }
    return row
  }

  function shuffled<T>(items: readonly T[]): T[] {
    return items
      .map(item => ({ item, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  }
}

export function allPairs(sizes: readonly number[]): Pair[] {
  return sizes.flatMap((size, a) =>
    sizes.flatMap((other, b) =>
      a >= b ? [] : Array.from({ length: size * other }, (_, i) => pairAt(a, Math.floor(i / other), b, i % other)),
    ),
  )
}

export function pairsOf(row: Row): Pair[] {
  return row.flatMap((level, a) => row.slice(a + 1).map((other, k) => pairAt(a, level, a + 1 + k, other)))
}

export const nameOf = ({ factors, levels }: Pair): string => `${factors.join()} ${levels.join()}`

function pairAt(a: number, level: number, b: number, other: number): Pair {
  return a < b ? { factors: [a, b], levels: [level, other] } : { factors: [b, a], levels: [other, level] }
}

/** Numbers between 0 and 1 from a seed (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
