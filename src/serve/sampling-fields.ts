/** vLLM's sampling fields as the engine's parameters. What would change the tokens and is not implemented is refused. */
import { randomInt } from 'node:crypto'
import type { SamplingParams } from '../rollout/index.js'
import { badRequest } from './errors.js'
import type { Fields } from './fields.js'

export interface SamplingRequest {
  params: Omit<SamplingParams, 'maxNewTokens' | 'seed'>
  n: number
  /** Undefined where the client left it open. */
  seed: number | undefined
  skipSpecialTokens: boolean
  includeStop: boolean
  promptLogprobs: number | undefined
}

export const maxLogprobs = 20

export function readSampling(fields: Fields, { text }: { text: boolean }): SamplingRequest {
  refuseUnsupported(fields)
  const temperature = fields.number('temperature') ?? 1
  if (temperature < 0 || temperature > 2)
    throw badRequest(`temperature must be in [0, 2], got ${temperature}.`, 'temperature')
  const n = fields.integer('n') ?? 1
  if (n < 1) throw badRequest(`n must be at least 1, got ${n}.`, 'n')
  if (n > 1 && temperature === 0) throw badRequest(`n must be 1 when using greedy sampling, got ${n}.`, 'n')
  const topP = fields.number('top_p') ?? 1
  if (!(topP > 0 && topP <= 1)) throw badRequest(`top_p must be in (0, 1], got ${topP}.`, 'top_p')
  const topK = fields.integer('top_k') ?? -1
  if (topK < -1) throw badRequest(`top_k must be 0 (disable), -1 (disable), or at least 1, got ${topK}.`, 'top_k')
  const minP = fields.number('min_p') ?? 0
  if (!(minP >= 0 && minP <= 1)) throw badRequest(`min_p must be in [0, 1], got ${minP}.`, 'min_p')
  const minNewTokens = fields.integer('min_tokens') ?? 0
  if (minNewTokens < 0) throw badRequest(`min_tokens must be at least 0, got ${minNewTokens}.`, 'min_tokens')
  const stop = fields.strings('stop') ?? []
  if (stop.includes('')) throw badRequest('stop cannot contain an empty string.', 'stop')
  if (stop.length > 0 && !text) throw badRequest('stop strings need a tokenizer, and this model has none.', 'stop')
  const seed = fields.integer('seed')
  const skipSpecialTokens = fields.flag('skip_special_tokens') ?? true
  const promptLogprobs = logprobCount(fields, 'prompt_logprobs')
  return {
    params: {
      temperature,
      topP,
      topK: topK === 0 ? -1 : topK,
      minP,
      minNewTokens,
      stop,
      stopIds: fields.integers('stop_token_ids') ?? [],
      ignoreEos: fields.flag('ignore_eos') ?? false,
      forbiddenIds: forbidden(fields),
      ...(text ? { text: skipSpecialTokens ? ('plain' as const) : ('with-special' as const) } : {}),
      ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
      ...truncation(fields),
    },
    n,
    seed: seed === -1 ? undefined : seed,
    skipSpecialTokens,
    includeStop: fields.flag('include_stop_str_in_output') ?? false,
    promptLogprobs,
  }
}

export function logprobCount(fields: Fields, name: string): number | undefined {
  const count = fields.integer(name)
  if (count !== undefined && (count < 0 || count > maxLogprobs))
    throw badRequest(`${name} must be between 0 and ${maxLogprobs}, got ${count}.`, name)
  return count
}

/** A bias of -100 forbids a token; any other would change the distribution in a way the engine does not. */
function forbidden(fields: Fields): number[] {
  const bias = fields.object('logit_bias') ?? {}
  return Object.entries(bias).map(([id, value]) => {
    if (typeof value !== 'number' || value > -100)
      throw badRequest('logit_bias: only -100, which forbids a token, is supported.', 'logit_bias')
    return Number(id)
  })
}

function truncation(fields: Fields): Pick<SamplingParams, 'truncatePromptTokens'> {
  const limit = fields.integer('truncate_prompt_tokens')
  if (limit === undefined) return {}
  if (limit < 1) throw badRequest(`truncate_prompt_tokens must be at least 1, got ${limit}.`, 'truncate_prompt_tokens')
  const side = fields.string('truncation_side') ?? 'left'
  if (side !== 'left' && side !== 'right')
    throw badRequest(`truncation_side must be left or right, got ${side}.`, 'truncation_side')
  return { truncatePromptTokens: { limit, side } }
}

function refuseUnsupported(fields: Fields): void {
  const neutral: Readonly<Record<string, unknown>> = {
    presence_penalty: 0,
    frequency_penalty: 0,
    repetition_penalty: 1,
    best_of: fields.raw.n ?? 1,
    suffix: '',
    allowed_token_ids: null,
    bad_words: [],
    logprob_token_ids: null,
    structured_outputs: null,
    guided_json: null,
    response_format: null,
    use_beam_search: false,
  }
  for (const [name, harmless] of Object.entries(neutral)) {
    const value = fields.raw[name]
    if (value === undefined || value === null || JSON.stringify(value) === JSON.stringify(harmless)) continue
    if (name === 'response_format' && (value as { type?: unknown }).type === 'text') continue
    throw badRequest(`${name} is not supported by this server.`, name)
  }
}

/** A seed for a client that named none. */
export const anySeed = (): number => randomInt(2 ** 47)
