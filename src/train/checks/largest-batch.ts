/** The largest batch that a step can hold: the memory of a training depends on it. */
import { leastShared, planBatches } from '../../model/index.js'
import type { TrainingPlan } from './plan.js'

/** Of one sequence: all its tokens, and those whose output is computed: from the first trained one on. */
export interface SequenceLength {
  readonly tokens: number
  readonly outputs: number
  /** Of its images and videos. Default 0. */
  readonly patches?: number
}

export interface BatchSize {
  /** Tokens of a forward pass. */
  readonly tokens: number
  /** Of its longest sequence. */
  readonly longest: number
  readonly sequences: number
  /** Rows that the CPU computes: the beginning that sequences have in common once. */
  readonly rows: number
  /** Tokens whose output is wanted. */
  readonly outputs: number
  /** Batches of the step. */
  readonly batches: number
  /** Patches of its images and videos, each once, and of all images of the data. */
  readonly patches: number
  readonly images: number
}

interface BatchLimits {
  readonly context: number
  readonly tokenBudget: number
  /** Patches of a batch, where the tower is trained. */
  readonly patchBudget?: number | undefined
}

/**
 * `rows` are the lengths of every training row, or of every prompt where responses are generated, in the order of the first epoch: its
 * steps are looked at. Without them a row may have as many tokens as the config allows.
 */
export function largestBatch(
  plan: TrainingPlan,
  { context, tokenBudget, patchBudget }: BatchLimits,
  rows: readonly SequenceLength[] = [],
): BatchSize {
  const { sequences, generation, groupSize = 1 } = plan
  const lengths = rows.length > 0 ? rows : [unknownRow(plan, context)]
  // Sequences that begin alike: the two of a pair, the samples of a prompt.
  const alike = generation ? generation.samplesPerPrompt : groupSize
  const groups = generation
    ? lengths.map(one => Array<SequenceLength>(alike).fill(answered(one, generation.maxNewTokens, context)))
    : inGroups(lengths, groupSize)
  // A step has at most this many batches of at least a token each: a rollout may have millions of samples.
  const most = Math.max(groupSize, Math.min(sequences, 2 * tokenBudget))
  const together = Math.ceil((generation?.samples ?? sequences) / alike)
  const size = Math.min(together, 2 * tokenBudget)
  // An epoch with fewer rows is one step of them all.
  const steps = rows.length > 0 ? largestSteps(groups, size) : [Array.from({ length: size }, () => groups[0]!)]
  const images = groups.reduce((sum, [one]) => sum + (one!.patches ?? 0), 0)
  const limits = { tokenBudget, patchBudget, groupSize, most, images }
  const sizes = steps.map(step => batchSize(step.slice(0, Math.ceil(most / alike)), limits))
  return sizes.reduce((a, b) => (b.rows + b.patches > a.rows + a.patches ? b : a))
}

/** Steps that are planned, of a data set that may have a million. */
const plannedSteps = 16

/** The groups of the steps with the most tokens and with the longest sequences, each longest first. */
function largestSteps(groups: readonly SequenceLength[][], size: number): SequenceLength[][][] {
  const steps = Array.from({ length: Math.max(1, Math.floor(groups.length / size)) }, (_, i) => {
    let [tokens, longest] = [0, 0]
    for (let k = i * size; k < Math.min(groups.length, (i + 1) * size); k++) {
      for (const one of groups[k]!) tokens += one.tokens
      longest = Math.max(longest, longestOf(groups[k]!))
    }
    return { first: i * size, tokens, longest }
  })
  const top = (by: 'tokens' | 'longest') => steps.toSorted((a, b) => b[by] - a[by]).slice(0, plannedSteps)
  return [...new Set([...top('tokens'), ...top('longest')])].map(({ first }) =>
    groups.slice(first, first + size).sort((a, b) => longestOf(b) - longestOf(a)),
  )
}

interface StepOptions {
  readonly tokenBudget: number
  readonly patchBudget: number | undefined
  readonly groupSize: number
  /** Sequences of the step. */
  readonly most: number
  readonly images: number
}

/** The first batch of a step: the largest one. */
function batchSize(step: readonly SequenceLength[][], options: StepOptions): BatchSize {
  const { tokenBudget, patchBudget, groupSize, most, images } = options
  const chosen = step.flatMap((group, number) => group.map(one => ({ ...one, group: number }))).slice(0, most)
  // Sequences of a group have the same images.
  const of = (i: number) => [{ hash: `${chosen[i]!.group}`, patches: chosen[i]!.patches ?? 0 }]
  const batches = planBatches(
    chosen.map(one => one.tokens),
    {
      tokenBudget,
      packing: 'on',
      groupSize,
      ...(patchBudget === undefined ? {} : { patches: { budget: patchBudget, of } }),
    },
  )
  const [first] = batches
  const held = first!.sequences.map(i => chosen[i]!)
  const sum = (of: (one: (typeof held)[number]) => number): number => held.reduce((total, one) => total + of(one), 0)
  const tokens = sum(one => one.tokens)
  const shared = sharedTokens(held)
  return {
    tokens,
    longest: first!.length,
    sequences: held.length,
    rows: shared >= leastShared * tokens ? tokens - shared : tokens,
    outputs: sum(one => one.outputs),
    batches: batches.length,
    patches: [...new Map(held.map(one => [one.group, one.patches ?? 0])).values()].reduce((a, b) => a + b, 0),
    images,
  }
}

/** A prompt and the longest response that it may get. */
function answered({ tokens, patches = 0 }: SequenceLength, maxNewTokens: number, context: number): SequenceLength {
  return { tokens: Math.min(context, tokens + maxNewTokens), outputs: Math.min(context, maxNewTokens), patches }
}

/** Tokens before the first wanted output, in all sequences of a group but the first. */
function sharedTokens(held: readonly (SequenceLength & { group: number })[]): number {
  const seen = new Set<number>()
  return held.reduce((sum, { tokens, outputs, group }) => {
    if (seen.has(group)) return sum + Math.max(0, tokens - outputs - 1)
    seen.add(group)
    return sum
  }, 0)
}

/** As long as the config allows. */
function unknownRow({ maxLength, generation }: TrainingPlan, context: number): SequenceLength {
  const { promptMaxLen = context, maxNewTokens = 0 } = generation ?? {}
  const tokens = generation ? Math.min(promptMaxLen, context - maxNewTokens) : Math.min(maxLength ?? context, context)
  return { tokens, outputs: tokens }
}

/** Consecutive rows that stay in one batch. */
function inGroups(rows: readonly SequenceLength[], size: number): SequenceLength[][] {
  const groups: SequenceLength[][] = []
  for (let i = 0; i < rows.length; i += size)
    groups.push(Array.from({ length: size }, (_, k) => rows[Math.min(i + k, rows.length - 1)]!))
  return groups
}

const longestOf = (group: readonly SequenceLength[]): number => Math.max(...group.map(one => one.tokens))
