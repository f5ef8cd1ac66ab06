import { z } from 'zod'
import { checkTotal } from './inputs.js'

/** How token losses are aggregated. */
export const aggregations = [
  'seq-mean-token-mean',
  'token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-sum-norm',
] as const
type Aggregation = (typeof aggregations)[number]

/**
 * Denominators of means: counts of the *whole* batch of an optimiser step, over all micro-batches and ranks. A loss takes any
 * part of the batch with the same totals; values and gradients of the parts then add up.
 */
export interface TokenTotals {
  readonly sequences: number
  readonly tokens: number
}

/**
 * The totals of a batch from the number of tokens of each sequence, which is known before any forward pass.
 *
 * @example
 * tokenTotals([3, 5]) // { sequences: 2, tokens: 8 }
 */
export function tokenTotals(lengths: readonly number[]): TokenTotals {
  return { sequences: lengths.length, tokens: lengths.reduce((sum, length) => sum + length, 0) }
}

export const aggregationShape = {
  aggregation: z
    .enum(aggregations)
    .default('seq-mean-token-mean')
    .describe('how token losses are aggregated to one number'),
  maxNewTokens: z.int().min(1).optional().describe('most tokens of a response; seq-mean-token-sum-norm divides by it'),
}

interface AggregationOptions {
  readonly aggregation: Aggregation
  readonly maxNewTokens?: number | undefined
}

/** For `superRefine`: the one aggregation that needs a length says so. */
export function refineAggregation(options: AggregationOptions, context: z.RefinementCtx): void {
  if (options.aggregation === 'seq-mean-token-sum-norm' && options.maxNewTokens === undefined)
    context.addIssue({
      code: 'custom',
      path: ['maxNewTokens'],
      message: 'missing; seq-mean-token-sum-norm divides by it',
    })
}

/** Weight of each token of a sequence of this length. */
export function tokenCoefficient(length: number, totals: TokenTotals, options: AggregationOptions): number {
  switch (options.aggregation) {
    case 'seq-mean-token-mean':
      return 1 / (length * totals.sequences)
    case 'token-mean':
      return 1 / totals.tokens
    case 'seq-mean-token-sum':
      return 1 / totals.sequences
    case 'seq-mean-token-sum-norm':
      return 1 / (totals.sequences * options.maxNewTokens!)
  }
}

export function checkTokenTotals(totals: TokenTotals, lengths: readonly number[]): void {
  const present = tokenTotals(lengths)
  checkTotal('sequences', totals.sequences, present.sequences)
  checkTotal('tokens', totals.tokens, present.tokens)
}
