import { z } from 'zod'
import { mergeMoments, momentsOf, noMoments } from '../advantages/moments.js'
import { resolveOptions } from '../options.js'
import {
  aggregationShape,
  checkTokenTotals,
  refineAggregation,
  type TokenTotals,
  tokenCoefficient,
} from './aggregation.js'
import { checkTokenGradient, checkTokenInputs, type Named } from './inputs.js'
import { mergeStatistics, share } from './statistics.js'

export const valueLossSchema = z
  .strictObject({
    valueClip: z
      .number()
      .positive()
      .nullable()
      .default(0.2)
      .describe('value clipping: the largest change of a value since the rollout; null: no clipping'),
    ...aggregationShape,
  })
  .superRefine(refineAggregation)
type ValueLossOptions = z.input<typeof valueLossSchema>

interface ValueSample extends Named {
  /** Of the critic being trained. */
  readonly values: ArrayLike<number>
  /** When the rollout was scored; needed with `valueClip`. */
  readonly oldValues?: ArrayLike<number> | undefined
  readonly returns: ArrayLike<number>
}

export interface ValueStatistics {
  readonly tokens: number
  /** Share of the tokens whose clipped value is the one that counts: they have no gradient. */
  readonly clipShare: number
  /** Mean of value minus return. */
  readonly errorMean: number
}

export function mergeValueStatistics(parts: readonly ValueStatistics[]): ValueStatistics {
  return mergeStatistics(parts, { tokens: 'sum', clipShare: 'tokens', errorMean: 'tokens' })
}

export interface ValueLossResult {
  readonly value: number
  readonly gradients: readonly { readonly values: Float64Array }[]
  readonly statistics: ValueStatistics
}

/**
 * Half the squared error of the values, or with `valueClip` the larger of that and the error of the clipped value, so that a
 * critic gains nothing by moving further. If both are equal, the value itself is used.
 *
 * @example
 * const samples = [{ values: [0.5], oldValues: [0.4], returns: [1] }]
 * valueLoss({ samples, totals: tokenTotals([1]), options: { valueClip: 0.2 } }) // value 0.125, gradient -0.5
 */
export function valueLoss(call: {
  samples: readonly ValueSample[]
  totals: TokenTotals
  options: ValueLossOptions
}): ValueLossResult {
  const { samples, totals } = call
  const options = resolveOptions('value', valueLossSchema, call.options)
  const { valueClip } = options
  checkTokenInputs(samples, {
    needed: valueClip === null ? ['values', 'returns'] : ['values', 'returns', 'oldValues'],
  })
  const lengths = samples.map(({ values }) => values.length)
  checkTokenTotals(totals, lengths)
  let [value, clipped, errorSum] = [0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const { values, oldValues, returns } = sample
    const { length } = values
    const coefficient = tokenCoefficient(length, totals, options)
    const gradient = new Float64Array(length)
    let [sum, errors] = [0, 0]
    for (let t = 0; t < length; t++) {
      const error = values[t]! - returns[t]!
      errors += error
      const moved = valueClip === null ? 0 : values[t]! - oldValues![t]!
      if (valueClip !== null && Math.abs(moved) > valueClip) {
        const clippedError = oldValues![t]! + Math.sign(moved) * valueClip - returns[t]!
        if (clippedError * clippedError > error * error) {
          sum += clippedError * clippedError
          clipped++
          continue
        }
      }
      sum += error * error
      gradient[t] = coefficient * error
    }
    checkTokenGradient(sample, place, gradient, sum)
    value += 0.5 * coefficient * sum
    errorSum += errors
    return { values: gradient }
  })
  const tokens = lengths.reduce((a, b) => a + b, 0)
  return {
    value,
    gradients,
    statistics: { tokens, clipShare: share(clipped, tokens), errorMean: share(errorSum, tokens) },
  }
}

/**
 * Share of the variance of the returns that the values explain, over all tokens of a batch: 1 for a perfect critic, 0 for a
 * constant, undefined if all returns are equal.
 */
export function explainedVariance(
  samples: readonly { readonly values: ArrayLike<number>; readonly returns: ArrayLike<number> }[],
): number | undefined {
  let [errors, returns] = [noMoments, noMoments]
  for (const sample of samples) {
    const error = Float64Array.from(sample.returns, (value, t) => value - sample.values[t]!)
    errors = mergeMoments(errors, momentsOf(error))
    returns = mergeMoments(returns, momentsOf(sample.returns))
  }
  return returns.m2 === 0 ? undefined : 1 - errors.m2 / returns.m2
}
