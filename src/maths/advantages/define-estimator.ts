import type { z } from 'zod'
import { type Definition, define, isDefinition } from '../definition.js'

/** One number per token of a response each. */
export interface TokenAdvantages {
  readonly advantages: Float64Array
  readonly returns: Float64Array
}

/** One response, as an estimator sees it. */
export interface EstimatorInput<Options> {
  /** Per token; the comparison with other samples and the cost of KL are in them. */
  readonly rewards: ArrayLike<number>
  /** The critic's, per token; there where the estimator needs them. */
  readonly values?: ArrayLike<number> | undefined
  readonly gamma: number
  /** The discount of what follows each token: `gamma`, and `turnGamma` on top at the end of a turn. */
  readonly discounts: ArrayLike<number>
  readonly lambd: number
  readonly options: Options
}

/** An advantage estimator. Checks, docs tables and formulas only use these fields. */
export interface EstimatorDefinition<Options extends z.ZodObject = z.ZodObject> extends Definition<'estimator'> {
  readonly options: Options
  /** `samples of a prompt`: `shape` compares them, so that a prompt needs at least two. */
  readonly compares: 'samples of a prompt' | 'nothing'
  /** Whether it needs a critic's values. */
  readonly values: 'needed' | 'unused'
  /** Which of the common options it reads. */
  readonly reads: readonly ('gamma' | 'lambd')[]
  /** The rewards of one prompt's samples, compared with each other. */
  shape(rewards: Float64Array, options: z.output<Options>): Float64Array
  /** Arrays of their own: what changes advantages afterwards leaves returns alone. */
  advantages(input: EstimatorInput<z.output<Options>>): TokenAdvantages
}

type Parts<Options extends z.ZodObject> = Pick<EstimatorDefinition<Options>, 'name' | 'description' | 'options'> & {
  readonly values?: 'needed' | 'unused'
  readonly reads?: EstimatorDefinition['reads']
  readonly advantages?: EstimatorDefinition<Options>['advantages']
} & (
    | { readonly compares: 'nothing'; readonly shape?: undefined }
    | { readonly compares: 'samples of a prompt'; readonly shape: EstimatorDefinition<Options>['shape'] }
  )

/**
 * An estimator. Without `advantages` they are the discounted returns.
 *
 * @example
 * export default defineEstimator({
 *   name: 'median',
 *   description: 'each sample against the median of its prompt',
 *   options: z.object({}),
 *   compares: 'samples of a prompt',
 *   shape: rewards => {
 *     const median = rewards.toSorted()[Math.floor(rewards.length / 2)] ?? 0
 *     return rewards.map(reward => reward - median)
 *   },
 * })
 */
export function defineEstimator<Options extends z.ZodObject>(parts: Parts<Options>): EstimatorDefinition<Options> {
  const { name, description, options, compares, values = 'unused' } = parts
  const advantages = parts.advantages ?? discounted
  const reads = parts.reads ?? (parts.advantages ? ['gamma', 'lambd'] : ['gamma'])
  if (compares === 'samples of a prompt' && typeof parts.shape !== 'function')
    throw new TypeError(`estimator "${name}": it compares the samples of a prompt, and needs shape`)
  const shape = parts.shape ?? (rewards => rewards)
  return define({ defines: 'estimator', name, description, options, compares, values, reads, shape, advantages })
}

export function isEstimator(value: unknown): value is EstimatorDefinition {
  return isDefinition(value, 'estimator')
}

function discounted({ rewards, discounts }: EstimatorInput<unknown>): TokenAdvantages {
  const returns = discountedReturns(rewards, discounts)
  return { advantages: returns.slice(), returns }
}

/** Discounted sum of rewards from each token on; `discounts`: one for all tokens, or one for what follows each. */
export function discountedReturns(rewards: ArrayLike<number>, discounts: number | ArrayLike<number>): Float64Array {
  const returns = new Float64Array(rewards.length)
  let following = 0
  for (let t = rewards.length - 1; t >= 0; t--) {
    const discount = typeof discounts === 'number' ? discounts : discounts[t]!
    following = rewards[t]! + discount * following
    returns[t] = following
  }
  return returns
}
