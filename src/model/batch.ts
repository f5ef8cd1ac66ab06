/** Sequences of any length to batches an engine runs at once. Pure. */

export interface BatchPlan {
  /** The sequences of this batch, by their index in the call. */
  sequences: number[]
  /** Rows of the longest one. */
  length: number
  /** Their rows lie one after another with none added; otherwise each has `length` rows, padded where it is shorter. */
  packed: boolean
}

export interface PlanOptions {
  /** Rows a batch may have; a longer sequence is a batch of its own. */
  tokenBudget: number
  /** `off`: pad every sequence to the batch's longest. */
  packing: 'on' | 'off'
  /** This many consecutive sequences stay in one batch (pairs of a preference, samples of a prompt). */
  groupSize?: number
  /** Patches a batch may have: the images and videos of each sequence, by name. What several have in common counts once. */
  patches?: { budget: number; of: (sequence: number) => readonly { hash: string; patches: number }[] }
}

/**
 * Longest first, so that those of a batch are of similar length and the largest batch comes first: memory that suffices for
 * it suffices for all.
 */
export function planBatches(
  lengths: readonly number[],
  { tokenBudget, packing, groupSize = 1, patches }: PlanOptions,
): BatchPlan[] {
  if (lengths.length % groupSize !== 0)
    throw new RangeError(`${lengths.length} sequences do not make whole groups of ${groupSize}`)
  const groups = Array.from({ length: lengths.length / groupSize }, (_, g) => {
    const sequences = Array.from({ length: groupSize }, (_, i) => g * groupSize + i)
    return { sequences, longest: Math.max(...sequences.map(i => lengths[i]!)) }
  })
  groups.sort((a, b) => b.longest - a.longest || a.sequences[0]! - b.sequences[0]!)
  const plans: BatchPlan[] = []
  let current: number[] = []
  let rows = 0
  let longest = 0
  const held = new Map<string, number>()
  const close = () => {
    if (current.length === 0) return
    const equal = current.every(i => lengths[i] === longest)
    plans.push({ sequences: current, length: longest, packed: packing === 'on' && !equal })
    current = []
    rows = 0
    longest = 0
    held.clear()
  }
  for (const group of groups) {
    const added = group.sequences.reduce((sum, i) => sum + lengths[i]!, 0)
    // Groups come longest first, so the first one of a batch says how wide its padding is.
    const width = Math.max(longest, group.longest)
    const cost = packing === 'on' ? rows + added : (current.length + group.sequences.length) * width
    const fits = cost <= tokenBudget && (!patches || patchesWith(held, group.sequences, patches.of) <= patches.budget)
    if (current.length > 0 && !fits) close()
    if (patches) for (const i of group.sequences) for (const one of patches.of(i)) held.set(one.hash, one.patches)
    current.push(...group.sequences)
    rows += added
    longest = Math.max(longest, group.longest)
  }
  close()
  return plans
}

/** Patches of a batch that also has these sequences. */
function patchesWith(
  held: ReadonlyMap<string, number>,
  sequences: readonly number[],
  of: NonNullable<PlanOptions['patches']>['of'],
): number {
  const all = new Map(held)
  for (const i of sequences) for (const { hash, patches } of of(i)) all.set(hash, patches)
  return [...all.values()].reduce((sum, n) => sum + n, 0)
}

/** Where a sequence has the rows of its first tokens: they are those of another sequence of the batch, which begins alike. */
export interface SharedPrefix {
  /** By its place in the plan; it comes before. */
  owner: number
  length: number
}

/**
 * Common prefixes in a batch, by position in the plan: samples of one prompt, answers to one question. Only rows before the first
 * wanted output are shared, so a wanted row belongs to one sequence.
 */
export function sharedPrefixes(
  plan: BatchPlan,
  sequences: readonly Int32Array[],
  wanted: readonly { start: number }[],
  /** What tells the first tokens of a sequence apart beside their ids. */
  beside: (sequence: number, length: number) => string = () => '',
): (SharedPrefix | undefined)[] {
  const owners = new Map<string, number>()
  return plan.sequences.map((index, k) => {
    const { start: length } = wanted[index]!
    if (length === 0) return undefined
    const key = `${sequences[index]!.subarray(0, length).join()} ${beside(index, length)}`
    const owner = owners.get(key)
    if (owner === undefined) owners.set(key, k)
    return owner === undefined ? undefined : { owner, length }
  })
}

/** The arrays of one batch. Rows are tokens. */
export interface BatchArrays {
  ids: Int32Array
  /** How far rope turns each row. What a row sees follows from `cuSeqlens`, its random numbers from `dropoutKeys`. */
  ropePositions: Int32Array
  /** Grid cell to row, and row to grid cell; only of a packed batch. */
  pad: Int32Array | undefined
  unpad: Int32Array | undefined
  /** Where each sequence's rows begin, and the end of the last. */
  cuSeqlens: Int32Array
  /** The rows whose output is wanted, in the order of sequences, and the token that follows each. */
  rows: Int32Array
  targets: Int32Array
  /** Seed, step, sequence and position of each row, four numbers each; where the adapter drops a part of its input. */
  dropoutKeys: Int32Array | undefined
}

/** A seed's 53 bits as the 32 that a key has. */
const foldSeed = (seed: number): number => (seed ^ Math.imul(Math.floor(seed / 2 ** 32), 0x9e3779b9)) | 0

/** What the random numbers of a training pass are a function of, beside a sequence and a position in it. */
export interface DropoutPosition {
  seed: number
  step: number
  /** Sequences that came before those of this call, since the last step. */
  firstSequence: number
  /** The place of each sequence since the last step, where they do not follow one another. */
  numbers?: readonly number[] | undefined
}

/**
 * `wanted[i]` is the range of positions of sequence i whose output is wanted: for log-probabilities of tokens `from..n`
 * these are the positions before them.
 */
export function fillBatch(
  plan: BatchPlan,
  sequences: readonly Int32Array[],
  wanted: readonly { start: number; end: number }[],
  {
    dropout,
    prefixes,
  }: { dropout?: DropoutPosition | undefined; prefixes?: readonly (SharedPrefix | undefined)[] } = {},
): BatchArrays {
  const { length } = plan
  const packed = plan.packed || prefixes !== undefined
  const lengths = plan.sequences.map((i, k) => sequences[i]!.length - (prefixes?.[k]?.length ?? 0))
  const total = packed ? lengths.reduce((sum, n) => sum + n, 0) : length * lengths.length
  const ranges = plan.sequences.map(index => wanted[index]!)
  const outputs = ranges.reduce((sum, { start, end }) => sum + end - start, 0)
  const arrays: BatchArrays = {
    ids: new Int32Array(total),
    ropePositions: new Int32Array(total),
    pad: packed ? new Int32Array(length * lengths.length) : undefined,
    unpad: packed ? new Int32Array(total) : undefined,
    cuSeqlens: new Int32Array(lengths.length + 1),
    rows: new Int32Array(outputs),
    targets: new Int32Array(outputs),
    dropoutKeys: dropout && new Int32Array(4 * total),
  }
  const seed = dropout && foldSeed(dropout.seed)
  /** The row of each sequence's first token. */
  const firstRows: number[] = []
  let row = 0
  let output = 0
  for (const [k, index] of plan.sequences.entries()) {
    const ids = sequences[index]!
    const { owner = k, length: borrowed = 0 } = prefixes?.[k] ?? {}
    firstRows[k] = packed ? row : k * length
    for (let t = 0; t < borrowed; t++) arrays.pad![k * length + t] = firstRows[owner]! + t
    const first = firstRows[k] - borrowed
    const number = dropout && (dropout.numbers?.[index] ?? dropout.firstSequence + index)
    arrays.ids.set(ids.subarray(borrowed), firstRows[k])
    arrays.cuSeqlens[k + 1] = first + ids.length
    for (let t = borrowed; t < ids.length; t++) {
      arrays.ropePositions[first + t] = t
      if (dropout) arrays.dropoutKeys!.set([seed!, dropout.step, number!, t], 4 * (first + t))
      if (packed) {
        arrays.pad![k * length + t] = first + t
        arrays.unpad![first + t] = k * length + t
      }
    }
    const { start, end } = ranges[k]!
    for (let t = start; t < end; t++) {
      arrays.rows[output] = first + t
      arrays.targets[output++] = ids[t + 1] ?? 0
    }
    row += lengths[k]!
  }
  return arrays
}
