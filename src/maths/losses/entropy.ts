import { z } from 'zod'
import { resolveOptions } from '../options.js'
import {
  aggregationShape,
  checkTokenTotals,
  refineAggregation,
  type TokenTotals,
  tokenCoefficient,
} from './aggregation.js'
import { checkTokenInputs, type Named } from './inputs.js'

export const entropyLossSchema = z.strictObject(aggregationShape).superRefine(refineAggregation)
type EntropyLossOptions = z.input<typeof entropyLossSchema>

interface EntropySample extends Named {
  /** Of the distributions of the policy being trained. */
  readonly entropies: ArrayLike<number>
}

interface EntropyLossResult {
  readonly value: number
  readonly gradients: readonly { readonly entropies: Float64Array }[]
  readonly statistics: { readonly tokens: number }
}

/** The entropy bonus as a loss: minus the aggregate of the entropies, so that less loss is more entropy. */
export function entropyLoss(call: {
  samples: readonly EntropySample[]
  totals: TokenTotals
  options: EntropyLossOptions
}): EntropyLossResult {
  return resolvedEntropyLoss({ ...call, options: resolveOptions('entropy', entropyLossSchema, call.options) })
}

export function resolvedEntropyLoss(call: {
  samples: readonly EntropySample[]
  totals: TokenTotals
  options: Pick<z.output<typeof entropyLossSchema>, 'aggregation' | 'maxNewTokens'>
}): EntropyLossResult {
  const { samples, totals, options } = call
  checkTokenInputs(samples, { needed: ['entropies'] })
  const lengths = samples.map(({ entropies }) => entropies.length)
  checkTokenTotals(totals, lengths)
  let value = 0
  const gradients = samples.map(({ entropies }) => {
    const { length } = entropies
    const coefficient = tokenCoefficient(length, totals, options)
    let sum = 0
    for (let t = 0; t < length; t++) sum += entropies[t]!
    value -= coefficient * sum
    return { entropies: new Float64Array(length).fill(-coefficient) }
  })
  return { value, gradients, statistics: { tokens: lengths.reduce((a, b) => a + b, 0) } }
}
