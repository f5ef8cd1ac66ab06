import { z } from 'zod'
import { resolveOptions } from '../options.js'
import { checkTokenInputs, checkTotal, type Named } from './inputs.js'

/** Supervised fine-tuning has nothing to choose: which tokens are trained is in the sequences. */
export const sftLossSchema = z.strictObject({})
type SftLossOptions = z.input<typeof sftLossSchema>

interface SftSample extends Named {
  /** Of the trained tokens: those of the assistant, usually. */
  readonly logprobs: ArrayLike<number>
}

/** Trained tokens of the whole batch. */
interface SftTotals {
  readonly tokens: number
}

interface SftLossResult {
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
  const tokens = samples.reduce((sum, { logprobs }) => sum + logprobs.length, 0)
  checkTotal('trained tokens', totals.tokens, tokens)
  const coefficient = totals.tokens === 0 ? 0 : 1 / totals.tokens
  let value = 0
  const gradients = samples.map(({ logprobs }) => {
    let sum = 0
    for (let t = 0; t < logprobs.length; t++) sum += logprobs[t]!
    value -= coefficient * sum
    return { logprobs: new Float64Array(logprobs.length).fill(-coefficient) }
  })
  return { value, gradients, statistics: { tokens } }
}
