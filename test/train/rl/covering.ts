/**
 * Covering arrays with constraints: few rows in which every pair of levels of two factors occurs together, each row one that
 * `accepts`. One factor after another is added to all rows (the strategy IPO); the same rows every time. Pure.
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
const draws = 40

/** A level that no pair asked for yet. */
const free = -1

/** `sizes`: how many levels each factor has; level 0 is the one that asks for nothing. What a factor needs comes before it. */
export function coverPairs(sizes: readonly number[], accepts: (row: Row) => boolean): Covering {
  const random = numbers(7)
  const blank = sizes.map(() => 0)
  const known = new Map<string, boolean>()
  const accepted = (row: Row): boolean => {
    const real = row.map(level => Math.max(level, 0))
    const key = real.join()
    const before = known.get(key)
    if (before !== undefined) return before
    const found = accepts(real)
    known.set(key, found)
    return found
  }
  // For each level a row that is accepted with it: what it needs beside itself.
  const alone = sizes.map((size, factor) => Array.from({ length: size }, (_, level) => rowWith([[factor, level]])))
  const refused: Pair[] = []
  const rows: number[][] = Array.from({ length: sizes[0]! }, (_, level) =>
    sizes.map((_, at) => (at === 0 ? level : free)),
  )
  for (let factor = 1; factor < sizes.length; factor++) {
    const open = new Map(allPairs(sizes.slice(0, factor + 1), factor).map(pair => [nameOf(pair), pair]))
    for (const row of rows) {
      if (row[factor] === free) row[factor] = bestLevel(row, factor, open)
      cover(row, factor, open)
    }
    for (const pair of open.values()) {
      const row = rowFor(pair)
      if (row) cover(row, factor, open)
      else refused.push(pair)
    }
  }
  return { rows: rows.map(row => row.map(level => Math.max(level, 0))), refused }

  /** The level that covers most, among those that are accepted. */
  function bestLevel(row: Row, factor: number, open: ReadonlyMap<string, Pair>): number {
    const gain = (level: number): number =>
      row.filter((of, other) => other < factor && of !== free && open.has(nameOf(pairAt(other, of, factor, level))))
        .length
    const levels = shuffled(Array.from({ length: sizes[factor]! }, (_, level) => ({ level, gain: gain(level) })))
    const useful = levels.filter(one => one.gain > 0).sort((a, b) => b.gain - a.gain)
    return useful.find(({ level }) => accepted(row.with(factor, level)))?.level ?? free
  }

  /** A row that has the pair from now on: one with free places, or a new one. */
  function rowFor(pair: Pair): number[] | undefined {
    const { factors, levels } = pair
    const takes = (row: Row): boolean => factors.every((factor, i) => [free, levels[i]].includes(row[factor]))
    const with_ = (row: Row): Row => factors.reduce((made, factor, i) => made.with(factor, levels[i]!), [...row])
    const found = rows.find(row => takes(row) && accepted(with_(row)))
    if (found) {
      for (const [i, factor] of factors.entries()) found[factor] = levels[i]!
      return found
    }
    const needs = acceptedRow(pair)
    if (!needs) return undefined
    const made = needs.map((level, factor) => (level === 0 && !factors.includes(factor) ? free : level))
    rows.push(made)
    return made
  }

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
    const wanted = [blank, ...tried].map(fix).find(accepted) ?? (tried.length === 0 ? withOneMore(fix) : undefined)
    if (wanted) return wanted
    for (let draw = 0; draw < draws; draw++) {
      // More and more of the other factors ask for something.
      const [from, share] = [tried[draw % (tried.length || 1)] ?? blank, draw / draws]
      const row = fix(from.map((level, factor) => (random() < share ? Math.floor(random() * sizes[factor]!) : level)))
      if (accepted(row)) return needed(row, fixed)
    }
    return undefined
  }

  /** With one other factor that asks for something. */
  function withOneMore(fix: (row: Row) => Row): Row | undefined {
    for (const [factor, size] of sizes.entries())
      for (let level = 1; level < size; level++) {
        const row = fix(blank.with(factor, level))
        if (accepted(row)) return row
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

  function shuffled<T>(items: readonly T[]): T[] {
    return items
      .map(item => ({ item, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  }
}

/** Takes the pairs of a factor in a row out of those that are open. */
function cover(row: Row, factor: number, open: Map<string, Pair>): void {
  if (row[factor] === free) return
  for (let other = 0; other < factor; other++)
    if (row[other] !== free) open.delete(nameOf(pairAt(other, row[other]!, factor, row[factor]!)))
}

/** Those of two factors, or those of the last factor with another. */
export function allPairs(sizes: readonly number[], last?: number): Pair[] {
  return sizes.flatMap((size, a) =>
    sizes.flatMap((other, b) =>
      a >= b || (last !== undefined && b !== last)
        ? []
        : Array.from({ length: size * other }, (_, i) => pairAt(a, Math.floor(i / other), b, i % other)),
    ),
  )
}

export function pairsOf(row: Row): Pair[] {
  return row.flatMap((level, a) => row.slice(a + 1).map((other, k) => pairAt(a, level, a + 1 + k, other)))
}

export const nameOf = ({ factors, levels }: Pair): string => `${factors.join()} ${levels.join()}`

function pairAt(a: number, level: number, b: number, other: number): Pair {
  return { factors: [a, b], levels: [level, other] }
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
