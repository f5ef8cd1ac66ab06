/** Difference between the log-probabilities of engine and trainer, and whether rounding can explain it. Pure. */
import type { Experience } from '../../experience/index.js'
import { alteredTokens } from '../../maths/index.js'
import { EngineError, explainedDifference, type WeightsAgreement } from '../../rollout/index.js'
import { trainedCount } from '../../sequence/index.js'
import type { RlConfig } from './config.js'
import { comparableLogprobs } from './engine-logprobs.js'

interface EngineGap {
  readonly mean: number
  readonly max: number
  readonly tokens: number
}

interface GapInputs {
  readonly experiences: readonly Experience[]
  /** The trainer's, of the policy that sampled; undefined where it was not asked. */
  readonly logprobs: readonly (Float32Array | undefined)[]
  readonly config: RlConfig
}

/**
 * With filters and structured output the distributions differ on purpose, so there is no gap; altered tokens are excluded. A gap
 * of exactly 0 is possible: the logarithm of a probability near 1 is rounded to steps of 1e-7, and an almost certain policy has
 * no larger difference.
 */
export function engineGap({ experiences, logprobs, config }: GapInputs): EngineGap | undefined {
  if (config.topP < 1 || config.topK > 0 || config.structured) return undefined
  let [sum, tokens, max] = [0, 0, 0]
  for (const [i, one] of experiences.entries()) {
    const { engineLogprobs, sequence } = one
    const own = logprobs[i]
    // Raw ones where they are there: ids that are never sampled, such as placeholders, do not change them.
    const { raw } = engineLogprobs
    const engine =
      (config.temperature === 1 ? raw : undefined) ?? comparableLogprobs(engineLogprobs, config.temperature)
    if (!own || !engine) continue
    const altered = alteredTokens({ length: trainedCount(sequence), turns: turnLengths(one), ...samplingOf(config) })
    for (let t = 0; t < own.length; t++) {
      if (altered[t]) continue
      const distance = Math.abs(own[t]! - engine[t]!)
      sum += distance
      tokens++
      if (distance > max) max = distance
    }
  }
  return tokens === 0 ? undefined : { mean: sum / tokens, max, tokens }
}

/** Sampled tokens of each turn of an experience; undefined where it is one response. */
export function turnLengths({ turns, segment = 0 }: Pick<Experience, 'turns' | 'segment'>): number[] | undefined {
  return turns?.filter(turn => turn.segment === segment).map(({ completion }) => completion.responseIds.length)
}

/** How tokens were sampled, as importance weights have to know. */
export function samplingOf(config: RlConfig): { temperature: number; firstTemperature?: number; minNewTokens: number } {
  const { temperature, useFire, firstTokenTemperature, minNewTokens } = config
  return { temperature, minNewTokens, ...(useFire ? { firstTemperature: firstTokenTemperature } : {}) }
}

/** Fewest tokens for a meaningful mean. */
const fewestTokens = 16
/** Responses are other texts than the proof: their gap may be larger by this factor. */
const gapFactor = 4

/** Samples of other weights than the policy's. Nothing was trained on them. */
export class OtherWeightsError extends EngineError {
  override readonly name = 'OtherWeightsError'
}

interface CheckedGap extends GapInputs {
  /** Of the policy: samples that older weights made have a gap of their own. */
  readonly version: number
  readonly dtype: string
  /** Of the proof of these weights; undefined: the engine shares the trainer's weights. */
  readonly agreement: WeightsAgreement | undefined
  readonly iteration: number
  /** The model has placeholders of images, which servers never sample. */
  readonly placeholders: boolean
}

/**
 * Servers give log-probabilities of the distribution without placeholders. They are above the trainer's by what placeholders would have
 * had: nothing in a trained model, up to this in one of random weights and few tokens.
 */
const placeholderShare = 0.02

/** The trainer's numbers, and the engine's where placeholders explain that those are larger. */
function withoutPlaceholders({ engineLogprobs: { raw, processed } }: Experience, own: Float32Array): Float32Array {
  if (raw || !processed) return own
  return own.map((value, t) => {
    const above = processed[t]! - value
    return above > 0 && above < placeholderShare ? processed[t]! : value
  })
}

/** Throws an `OtherWeightsError` where the gap is far above what the proof of the weights allowed. */
export function checkGap(inputs: CheckedGap): void {
  const { agreement, version, dtype, iteration } = inputs
  if (!agreement) return
  const places = [...inputs.experiences.keys()].filter(
    i => inputs.logprobs[i] && inputs.experiences[i]!.versions.every(span => span.version === version),
  )
  const experiences = places.map(i => inputs.experiences[i]!)
  const logprobs = places.map(i => {
    const own = inputs.logprobs[i]!
    return inputs.placeholders ? withoutPlaceholders(inputs.experiences[i]!, own) : own
  })
  const gap = engineGap({ ...inputs, experiences, logprobs })
  if (!gap || gap.tokens < fewestTokens) return
  const all = Float32Array.from(logprobs.flatMap(one => [...one]))
  const limit = gapFactor * Math.max(agreement.limit, explainedDifference(dtype, all))
  if (gap.mean <= limit) return
  throw new OtherWeightsError(
    `iteration ${iteration + 1}: log-probabilities of servers and trainer for the same samples differ by ` +
      `${gap.mean.toPrecision(2)} (gap/mean over ${gap.tokens} tokens). The check after the weight update differed by ` +
      `${agreement.difference.toPrecision(2)}, and the limit is ${limit.toPrecision(2)}. Other weights made these samples.`,
    {
      remedy:
        'The run removed the samples of this iteration and did not train on them. Check that every server serves `model` and that nothing else changes its weights, then resume with --resume. generator.tolerance changes the limit.',
    },
  )
}
