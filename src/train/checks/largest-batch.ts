/** The largest batch that a step can hold: the memory of a training depends on it. */
import { planBatches } from '../../model/index.js'
import type { TrainingPlan } from './plan.js'

/** Of one sequence: all its tokens, and those whose output is wanted. */
export interface SequenceLength {
  readonly tokens: number
  readonly outputs: number
}

export interface BatchSize {
  /** Tokens of a forward pass. */
  readonly tokens: number
  /** Of its longest sequence. */
  readonly longest: number
  readonly sequences: number
  /** Tokens whose output is wanted. */
  readonly outputs: number
}

interface BatchLimits {
  readonly context: number
  readonly tokenBudget: number
}

/**
 * `rows` are the lengths of every training row, or of every prompt where responses are generated. Without them a row may have as
 * many tokens as the config allows.
 */
export function largestBatch(
  plan: TrainingPlan,
  { context, tokenBudget }: BatchLimits,
  rows?: readonly SequenceLength[],
): BatchSize {
  const { sequences, generation, groupSize = 1 } = plan
  const lengths = rows && rows.length > 0 ? rows : [unknownRow(plan, context)]
  const answered = lengths.map(({ tokens, outputs }) => ({
    tokens: Math.min(context, tokens + (generation?.maxNewTokens ?? 0)),
    outputs: generation ? Math.min(context, generation.maxNewTokens) : outputs,
  }))
  const groups = inGroups(answered, groupSize).sort((a, b) => longestOf(b) - longestOf(a))
  // A batch has at most tokenBudget sequences, and a rollout may have millions.
  const length = Math.max(1, Math.min(Math.ceil(sequences / groupSize), tokenBudget))
  const chosen = Array.from({ length }, (_, i) => groups[i % groups.length]!).flat()
  const [first] = planBatches(
    chosen.map(one => one.tokens),
    { tokenBudget, packing: 'on', groupSize },
  )
  const held = first!.sequences.map(i => chosen[i]!)
  return {
    tokens: held.reduce((sum, one) => sum + one.tokens, 0),
    longest: first!.length,
    sequences: held.length,
    outputs: held.reduce((sum, one) => sum + one.outputs, 0),
  }
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
