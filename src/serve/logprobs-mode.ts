/** Which log-probabilities answers have: `--logprobs-mode`, as in vLLM. Pure. */
import type { TopLogprobs } from '../rollout/index.js'
import { badRequest } from './errors.js'
import type { SamplingRequest } from './sampling-fields.js'

/** `raw`: of the model's own distribution. `processed`: of the distribution that tokens were drawn from. */
export const logprobsModes = ['raw_logprobs', 'processed_logprobs'] as const
export type LogprobsMode = (typeof logprobsModes)[number]

/** A sampled token of an engine. `index`: its place in the response. */
interface SampledToken {
  index: number
  raw: number | undefined
  processed: number | undefined
  top: TopLogprobs | undefined
}

/** Makes the log-probabilities of a token in an answer. */
export type Told = (token: SampledToken) => { logprob: number; top: TopLogprobs | undefined }

const toldRaw: Told = ({ raw, top }) => ({ logprob: raw!, top })

/**
 * Engines give alternatives with raw log-probabilities. Their processed ones are `raw / T - c`, with the same constant as the sampled
 * token's; filtered tokens have none. A few of the likeliest tokens do not tell which ones `top_p` filtered, so alternatives with `top_p` are
 * refused.
 */
export function tellingOf(
  mode: LogprobsMode,
  { sampling, alternatives, eosIds }: { sampling: SamplingRequest; alternatives: number; eosIds: readonly number[] },
): Told {
  if (mode === 'raw_logprobs') return toldRaw
  const { temperature = 1, topK = -1, topP = 1, minP = 0 } = sampling.params
  const { minNewTokens = 0, forbiddenIds = [], stopIds = [], ignoreEos = false } = sampling.params
  if (alternatives === 0) return ({ processed, top }) => ({ logprob: processed!, top })
  const greedy = temperature === 0
  if (!greedy && topP < 1)
    throw badRequest(
      'alternatives (logprobs above 0) are not given beside top_p in the mode processed_logprobs.',
      'logprobs',
    )
  const scale = greedy ? 1 : temperature
  const most = greedy || topK < 0 ? Number.POSITIVE_INFINITY : topK
  const margin = greedy || minP === 0 ? Number.NEGATIVE_INFINITY : Math.log(minP)
  const never = new Set(forbiddenIds)
  const atFirst = new Set([...never, ...stopIds, ...(ignoreEos ? [] : eosIds)])
  return ({ index, raw, processed, top }) => {
    if (!top) return { logprob: processed!, top }
    const forbidden = index < minNewTokens ? atFirst : never
    const constant = raw! / scale - processed!
    let allowed = 0
    let likeliest: number | undefined
    const logprobs = top.logprobs.map((value, k) => {
      if (forbidden.has(top.ids[k]!)) return Number.NEGATIVE_INFINITY
      const scaled = value / scale
      likeliest ??= scaled
      return ++allowed > most || scaled < likeliest + margin ? Number.NEGATIVE_INFINITY : scaled - constant
    })
    return { logprob: processed!, top: { ...top, logprobs } }
  }
}
