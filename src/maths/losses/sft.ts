import { z } from 'zod'
import { resolveOptions } from '../options.js'
import { checkFlags, checkTokenInputs, checkTotal, type Named } from './inputs.js'

/** Supervised fine-tuning has nothing to choose: which tokens are trained is in the samples. */
export const sftLossSchema = z.strictObject({})
export type SftLossOptions = z.input<typeof sftLossSchema>

export interface SftSample extends Named {
  readonly logprobs: ArrayLike<number>
  /** The trained tokens: those of the assistant, usually. */
  readonly mask: ArrayLike<number | boolean>
}

/** Trained tokens of the whole batch. */
export interface SftTotals {
  readonly tokens: number
}

/** @example sftTotals([[0, 1, 1], [1]]) // { tokens: 3 } */
export function sftTotals(masks: readonly ArrayLike<number | boolean>[]): SftTotals {
  return { tokens: masks.reduce((sum, mask) => sum + trained(mask), 0) }
}

export interface SftLossResult {
  readonly value: number
  readonly gradients: readonly { readonly logprobs: Float64Array }[]
  readonly statistics: { readonly tokens: number }
}

/** The mean negative log-probability over the trained tokens of the batch. */
export function sftLoss(call: {
  samples: readonly SftSample[]
  totals: SftTotals
  options?: SftLossOptions
}): SftLossResult {
  const { samples, totals, options = {} } = call
  resolveOptions('sft', sftLossSchema, options)
  checkTokenInputs(samples, { needed: ['logprobs'] })
  checkFlags(samples, 'mask', 'logprobs')
  const { tokens } = sftTotals(samples.map(({ mask }) => mask))
  checkTotal('trained tokens', totals.tokens, tokens)
  const coefficient = totals.tokens === 0 ? 0 : 1 / totals.tokens
  let value = 0
  const gradients = samples.map(({ logprobs, mask }) => {
    const gradient = new Float64Array(logprobs.length)
    let sum = 0
    for (let t = 0; t < gradient.length; t++)
      if (mask[t]) {
        sum += logprobs[t]!
        gradient[t] = -coefficient
      }
    value -= coefficient * sum
    return { logprobs: gradient }
  })
  return { value, gradients, statistics: { tokens } }
}

function trained(mask: ArrayLike<number | boolean>): number {
  let count = 0
  for (let t = 0; t < mask.length; t++) if (mask[t]) count++
  return count
}
