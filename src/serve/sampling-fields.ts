/** Converts vLLM's sampling fields to the engine's parameters. */
import { randomInt } from 'node:crypto'
import type { GenerationDefaults, GeneratorCapabilities, SamplingParams } from '../rollout/index.js'
import { badRequest } from './errors.js'
import type { samplingParamsFields } from './field-tables.js'
import type { FieldsOf } from './request-shape.js'

/** Fields of every route that generates. */
type SamplingFields = Omit<FieldsOf<typeof samplingParamsFields>, 'logprobs'>

export interface SamplingRequest {
  params: Omit<SamplingParams, 'maxNewTokens' | 'seed'>
  n: number
  /** Undefined where the client gave none. */
  seed: number | undefined
  skipSpecialTokens: boolean
  includeStop: boolean
  promptLogprobs: number | undefined
}

interface SamplingOptions {
  capabilities: GeneratorCapabilities
  maxLength: number
  /** Of a response; the prompt gets the rest of the context. */
  maxTokens: number | undefined
}

const mostLogprobs = 20
/** With a lower temperature, logits leave the range of float32 for some models; use 0 instead. */
const leastTemperature = 1e-5
const mostStops = 64
const longestStop = 4096

/** The fields of a request, and what it leaves out as the model wants it. */
export function withDefaults<T extends SamplingFields>(fields: T, defaults: GenerationDefaults): T {
  const { temperature, topP, topK, minP, minNewTokens, stop, forbiddenIds = [] } = defaults
  const bias = Object.fromEntries(forbiddenIds.map(id => [`${id}`, -100]))
  return {
    ...fields,
    temperature: fields.temperature ?? temperature,
    top_p: fields.top_p ?? topP,
    top_k: fields.top_k ?? topK,
    min_p: fields.min_p ?? minP,
    min_tokens: fields.min_tokens ?? minNewTokens,
    stop: fields.stop ?? stop,
    ...(forbiddenIds.length > 0 ? { logit_bias: { ...bias, ...fields.logit_bias } } : {}),
  }
}

export function readSampling(fields: SamplingFields, options: SamplingOptions): SamplingRequest {
  const { capabilities } = options
  const temperature = fields.temperature ?? 1
  if (temperature < 0 || temperature > 2)
    throw badRequest(`temperature must be in [0, 2], got ${temperature}.`, 'temperature')
  if (temperature > 0 && temperature < leastTemperature)
    throw badRequest(`temperature must be 0 or at least ${leastTemperature}, got ${temperature}.`, 'temperature')
  const n = fields.n ?? 1
  if (n < 1) throw badRequest(`n must be at least 1, got ${n}.`, 'n')
  if (n > 1 && temperature === 0) throw badRequest(`n must be 1 when using greedy sampling, got ${n}.`, 'n')
  const topP = fields.top_p ?? 1
  if (!(topP > 0 && topP <= 1)) throw badRequest(`top_p must be in (0, 1], got ${topP}.`, 'top_p')
  const topK = fields.top_k ?? -1
  if (topK < -1) throw badRequest(`top_k must be 0 (disable), -1 (disable), or at least 1, got ${topK}.`, 'top_k')
  const minP = fields.min_p ?? 0
  if (!(minP >= 0 && minP <= 1)) throw badRequest(`min_p must be in [0, 1], got ${minP}.`, 'min_p')
  const minNewTokens = fields.min_tokens ?? 0
  if (minNewTokens < 0) throw badRequest(`min_tokens must be at least 0, got ${minNewTokens}.`, 'min_tokens')
  const skipSpecialTokens = fields.skip_special_tokens ?? true
  const promptLogprobs = logprobCount('prompt_logprobs', fields.prompt_logprobs, capabilities)
  if (promptLogprobs !== undefined && !capabilities.promptLogprobs)
    throw badRequest('prompt_logprobs are not given by this engine.', 'prompt_logprobs')
  return {
    params: {
      temperature,
      topP,
      topK: topK === 0 ? -1 : topK,
      minP,
      minNewTokens,
      stop: stopStrings(fields.stop ?? [], capabilities),
      stopIds: [...new Set(fields.stop_token_ids)],
      ignoreEos: fields.ignore_eos ?? false,
      forbiddenIds: forbidden(fields.logit_bias ?? {}),
      ...(capabilities.text ? { text: skipSpecialTokens ? ('plain' as const) : ('with-special' as const) } : {}),
      ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
      ...truncation(fields, options),
    },
    n,
    seed: fields.seed === -1 ? undefined : fields.seed,
    skipSpecialTokens,
    includeStop: fields.include_stop_str_in_output ?? false,
    promptLogprobs,
  }
}

export function logprobCount(
  name: string,
  count: number | undefined,
  { topLogprobs, logprobs }: GeneratorCapabilities,
): number | undefined {
  if (count === undefined) return undefined
  if (!logprobs.includes('raw')) throw badRequest(`${name}: this engine gives no log-probabilities.`, name)
  const most = Math.min(mostLogprobs, topLogprobs)
  if (count < 0 || count > most) throw badRequest(`${name} must be between 0 and ${most}, got ${count}.`, name)
  return count
}

function stopStrings(stop: readonly string[], { text }: GeneratorCapabilities): readonly string[] {
  if (stop.includes('')) throw badRequest('stop cannot contain an empty string.', 'stop')
  if (stop.length > 0 && !text) throw badRequest('stop strings need a tokenizer, and this model has none.', 'stop')
  if (stop.length > mostStops) throw badRequest(`at most ${mostStops} stop strings, got ${stop.length}.`, 'stop')
  const longest = Math.max(0, ...stop.map(one => one.length))
  if (longest > longestStop)
    throw badRequest(`a stop string has at most ${longestStop} characters, one has ${longest}.`, 'stop')
  return stop
}

/** A bias of -100 forbids a token. The engine supports no other bias but 0. */
function forbidden(bias: Readonly<Record<string, number>>): number[] {
  const ids: number[] = []
  for (const [id, value] of Object.entries(bias)) {
    if (value === 0) continue
    if (value !== -100)
      throw badRequest(
        `logit_bias: -100, which forbids a token, and 0 are supported, got ${value} for ${id}.`,
        'logit_bias',
      )
    ids.push(Number(id))
  }
  return ids
}

function truncation(
  { truncate_prompt_tokens: asked, truncation_side: side = 'left' }: SamplingFields,
  { maxLength, maxTokens = 1 }: SamplingOptions,
): Pick<SamplingParams, 'truncatePromptTokens'> {
  if (asked === undefined) return {}
  const limit = asked === -1 ? Math.max(1, maxLength - maxTokens) : asked
  if (limit < 1)
    throw badRequest(`truncate_prompt_tokens must be -1 or at least 1, got ${asked}.`, 'truncate_prompt_tokens')
  return { truncatePromptTokens: { limit, side } }
}

/** A seed for a client that gave none. */
export const anySeed = (): number => randomInt(2 ** 47)
