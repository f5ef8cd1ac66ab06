/** What SGLang 0.5.23 accepts, the words in which it refuses the rest, and what ends it. Pure. */
import type { Reply } from './engine-server.js'
import type { ToyRequest } from './toy-engine.js'
import { toyVocabSize } from './toy-model.js'
import { record, tokenGrammar } from './vllm-requests.js'

export type SglangRequest = Omit<ToyRequest, 'id' | 'adapter' | 'onToken'> & { readonly n: number }

export const badValue = (message: string): Reply => ({ status: 400, json: { error: { message } } })
export const badField = (error: string): Reply => ({ status: 400, json: { error } })
export const badBody = (message: string): Reply => ({
  status: 400,
  json: { object: 'error', message, type: 'Bad Request', param: null, code: 400 },
})

const known =
  'max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty presence_penalty repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag ignore_eos skip_special_tokens spaces_between_special_tokens no_stop_trim stream_interval logit_bias sampling_seed custom_params beam_width watermark choice'.split(
    ' ',
  )

/** `dies`: the scheduler does, and the server with it. */
export function readSglangRequest(
  ids: readonly unknown[],
  body: Readonly<Record<string, unknown>>,
  { context, deterministic, tokenizer }: { context: number; deterministic: boolean; tokenizer: boolean },
): SglangRequest | Reply | 'dies' {
  const params = record<unknown>(body.sampling_params) ?? {}
  const strange = Object.keys(params).find(name => !known.includes(name))
  if (strange !== undefined)
    return badField(`unknown field \`${strange}\`, expected one of ${known.map(name => `\`${name}\``).join(', ')}`)
  const max = params.max_new_tokens === undefined ? 128 : (params.max_new_tokens ?? context)
  if (typeof max !== 'number') return badField(`invalid type: string "${max}", expected i64`)
  if (ids.length === 0) return badValue('input_ids cannot be empty.')
  if (!ids.every(id => typeof id === 'number'))
    return badBody(
      `1 validation error:\n  {'type': 'value_error', 'loc': ('body', 'input_ids'), 'msg': 'Value error, elements must be int or list; got str'}`,
    )
  if (max < 0) return badValue(`max_new_tokens must be at least 0, got ${max}.`)
  const wrong = outOfRange(params, max)
  if (wrong) return badValue(wrong)
  const regex = typeof params.regex === 'string' ? tokenGrammar(params.regex) : undefined
  if (typeof params.regex === 'string' && !regex)
    return badValue('Failed to compile regex grammar: Regex parsing error at position 2\n')
  const stop = [params.stop ?? []].flat() as string[]
  if (!tokenizer && stop.length > 0) return badValue('stop strings need a tokenizer')
  const tooLong = length(ids.length, max, context)
  if (tooLong) return tooLong
  const start = numberOr(body.logprob_start_len, -1)
  if (start > ids.length) return badValue(`logprob_start_len (${start}) is higher than the number of input tokens`)
  const top = numberOr(body.top_logprobs_num, 0)
  if (ids.some(id => id < 0 || id >= toyVocabSize) || start < -1 || top > toyVocabSize) return 'dies'
  return {
    n: numberOr(params.n, 1) || 1,
    promptIds: ids as number[],
    maxNewTokens: Math.min(max, context - 2 - ids.length),
    minNewTokens: numberOr(params.min_new_tokens, 0),
    temperature: numberOr(params.temperature, 1),
    topK: numberOr(params.top_k, -1),
    topP: numberOr(params.top_p, 1),
    minP: numberOr(params.min_p, 0),
    seed: deterministic ? numberOr(params.sampling_seed, 42) : undefined,
    bias: record(params.logit_bias),
    allowed: regex,
    stopIds: (params.stop_token_ids as number[] | undefined) ?? [],
    stop,
    ignoreEos: params.ignore_eos === true,
    promptTop: body.return_logprob === true && start >= 0 ? top : undefined,
    top: body.return_logprob === true ? top : 0,
  }
}

function outOfRange(params: Readonly<Record<string, unknown>>, max: number): string | undefined {
  const { temperature, top_p, top_k, min_p, min_new_tokens, logit_bias } = params
  if (typeof temperature === 'number' && temperature < 0) return `temperature must be non-negative, got ${temperature}.`
  if (typeof top_p === 'number' && !(top_p > 0 && top_p <= 1)) return `top_p must be in (0, 1], got ${top_p}.`
  if (typeof min_p === 'number' && !(min_p >= 0 && min_p <= 1)) return `min_p must be in [0, 1], got ${min_p}.`
  // Greedy requests have their filters set aside before anyone looks.
  if (typeof top_k === 'number' && temperature !== 0 && (top_k < -1 || top_k === 0))
    return `top_k must be -1 (disable), or at least 1, got ${top_k}.`
  if (typeof min_new_tokens === 'number' && min_new_tokens > max)
    return `min_new_tokens must be in [0, max_new_tokens], got ${min_new_tokens}.`
  const bias = Object.keys(record(logit_bias) ?? {}).find(id => !(Number(id) < toyVocabSize))
  return bias === undefined ? undefined : `logit_bias must has keys in [0, ${toyVocabSize - 1}], got ${bias}.`
}

/** A context of 512 holds prompts of 505, and 510 tokens in all; it refuses what asks for more than 512. */
function length(prompt: number, max: number, context: number): Reply | undefined {
  if (prompt > context)
    return badValue(`The input (${prompt} tokens) is longer than the model's context length (${context} tokens).`)
  if (prompt + max > context)
    return badValue(
      `Requested token count exceeds the model's maximum context length of ${context} tokens. You requested a total of ${prompt + max} tokens: ${prompt} tokens from the input messages and ${max} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`,
    )
  if (prompt >= context - 6)
    return badValue(
      `Input length (${prompt} tokens) exceeds the maximum allowed length (${context - 6} tokens). Use a shorter input or enable --allow-auto-truncate.`,
    )
  return undefined
}

const numberOr = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)
