/** The meaning of log-probabilities that engines report. Pure. */
import type { SampleLogprobs } from './generator.js'
import type { ResolvedSampling } from './sampling.js'

/**
 * `raw`: of the model's own distribution. `scaled`: after temperature and forbidden tokens, before filters. `processed`: of the
 * distribution that tokens were drawn from. Greedy tokens count as drawn at temperature 1.
 */
export type LogprobMeaning = 'raw' | 'scaled' | 'processed'

type Settings = Pick<
  ResolvedSampling,
  'temperature' | 'firstTemperature' | 'topK' | 'topP' | 'minP' | 'minNewTokens' | 'forbiddenIds' | 'structured'
>

/**
 * The meanings that a sample's log-probabilities have: also another meaning where the sampling parameters make both the same.
 *
 * @example
 * async function canWeigh(engine: Generator, sampling: ResolvedSampling): Promise<boolean> {
 *   return logprobsUnder(engine.capabilities.logprobs, sampling).includes('processed')
 * }
 */
export function logprobsUnder(
  reported: readonly LogprobMeaning[],
  settings: Settings,
): readonly (keyof SampleLogprobs)[] {
  const { temperature, firstTemperature, topK, topP, minP, minNewTokens, forbiddenIds, structured } = settings
  const unscaled = [temperature, firstTemperature].every(value => value === 0 || value === 1)
  const unmasked = minNewTokens === 0 && forbiddenIds.length === 0 && structured === undefined
  const unfiltered = topK === -1 && topP === 1 && minP === 0
  const known = new Set<LogprobMeaning>(reported)
  const same = (a: LogprobMeaning, b: LogprobMeaning): void => {
    if (known.has(a)) known.add(b)
    if (known.has(b)) known.add(a)
  }
  if (unscaled && unmasked) same('raw', 'scaled')
  if (unfiltered) same('scaled', 'processed')
  if (unscaled && unmasked) same('raw', 'scaled')
  return (['raw', 'processed'] as const).filter(meaning => known.has(meaning))
}
