/** What vLLM 0.32 accepts, and the words in which it refuses the rest. Pure. */
import type { Reply } from './engine-server.js'
import type { ToyRequest } from './toy-engine.js'
import { toyText, toyVocabSize } from './toy-model.js'

export type Fields = Readonly<Record<string, unknown>>
export type VllmRequest = Omit<ToyRequest, 'id' | 'adapter'> & { readonly n: number }

export const vllmError = (status: number, type: string, message: string, param: string | null = null): Reply => ({
  status,
  json: { error: { message, type, param, code: status } },
})
export const badRequest = (message: string, param: string | null = null): Reply =>
  vllmError(400, 'BadRequestError', message, param)
const invalid = (where: string, type: string, msg: string, input: string): Reply =>
  vllmError(
    400,
    'Bad Request',
    `1 validation error:\n  {'type': '${type}', 'loc': '${where}', 'msg': '${msg}', 'input': ${input}}`,
    where,
  )

/** `--max-logprobs`, as it is where nobody sets it. */
const mostLogprobs = 20

/** `prompt` and the sampling parameters of either route. */
export function readVllmRequest(
  ids: unknown,
  params: Fields,
  { maxLength, route }: { maxLength: number; route: 'completions' | 'tokens' },
): VllmRequest | Reply {
  const prompt = route === 'completions' ? 'prompt' : 'token_ids'
  const max = params.max_tokens ?? (route === 'completions' ? 16 : maxLength)
  if (typeof max !== 'number')
    return invalid(
      'body.max_tokens',
      'int_parsing',
      'Input should be a valid integer, unable to parse string as an integer',
      `'${max}'`,
    )
  if (!Array.isArray(ids) || !ids.every(id => typeof id === 'number'))
    return invalid(`body.${prompt}`, 'list_type', 'Input should be a valid list', '...')
  if (ids.length === 0)
    return route === 'completions'
      ? badRequest('You must pass at least one prompt')
      : invalid(
          'body.token_ids',
          'too_short',
          'List should have at least 1 item after validation, not 0',
          "'<list of 0 items>'",
        )
  const temperature = number(params.temperature, 1)
  const n = number(params.n, 1)
  if (temperature < 0 || temperature > 2) {
    const message = `temperature must be in [0, 2], got ${temperature}. (parameter=temperature, value=${temperature})`
    return badRequest(message, 'temperature')
  }
  for (const [name, what] of [
    ['logprobs', 'sample'],
    ['prompt_logprobs', 'prompt'],
  ] as const) {
    const asked = number(params[name], 0)
    if (asked > mostLogprobs) {
      const message = `Requested ${what} logprobs of ${asked}, which is greater than max allowed: ${mostLogprobs}`
      return badRequest(`${message} (parameter=${name}, value=${asked})`, name)
    }
  }
  if (temperature === 0 && n > 1) return badRequest(`n must be 1 when using greedy sampling, got ${n}.`)
  const tooLong =
    route === 'completions' ? completionLength(ids.length, max, maxLength) : tokensLength(ids.length, maxLength)
  if (tooLong) return tooLong
  const strange = ids.find(id => id < 0 || id >= toyVocabSize)
  if (strange !== undefined) return badRequest(`Token id ${strange} is out of vocabulary`)
  const allowed = grammar(params.structured_outputs)
  if (allowed === 'wrong') return badRequest('Failed to compile the grammar: unclosed bracket')
  const logprobs = params.logprobs ?? undefined
  return {
    n,
    promptIds: ids,
    maxNewTokens: max,
    minNewTokens: number(params.min_tokens, 0),
    temperature,
    topK: number(params.top_k, -1),
    topP: number(params.top_p, 1),
    minP: number(params.min_p, 0),
    seed: typeof params.seed === 'number' ? params.seed : undefined,
    bias: record(params.logit_bias),
    allowed,
    stopIds: (params.stop_token_ids as number[] | undefined) ?? [],
    stop: [params.stop ?? []].flat() as string[],
    ignoreEos: params.ignore_eos === true,
    promptTop: typeof params.prompt_logprobs === 'number' ? params.prompt_logprobs : undefined,
    top: typeof logprobs === 'number' ? logprobs : 0,
  }
}

function completionLength(length: number, max: number, maxLength: number): Reply | undefined {
  const told = (message: string, param: string, value: number): Reply =>
    badRequest(`${message} (parameter=${param}, value=${value})`, param)
  if (max > maxLength)
    return told(
      `max_tokens=${max} cannot be greater than max_model_len=${maxLength}. Please request fewer output tokens.`,
      'max_tokens',
      max,
    )
  if (length > maxLength)
    return told(
      `This model's maximum context length is ${maxLength} tokens. However, your prompt contains ${length} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.`,
      'input_tokens',
      length,
    )
  return length === maxLength ? told('max_tokens must be at least 1, got 0.', 'max_tokens', 0) : undefined
}

function tokensLength(length: number, maxLength: number): Reply | undefined {
  if (length < maxLength) return undefined
  return badRequest(
    `The decoder prompt (length ${length}) is longer than the maximum model length of ${maxLength}. Make sure that \`max_model_len\` is no smaller than the number of text tokens.`,
  )
}

/** The toy's grammar: a regex that each token's text, without its space, has to match. Other forms are taken on trust. */
function grammar(structured: unknown): ((id: number) => boolean) | undefined | 'wrong' {
  const { regex } = record(structured) ?? {}
  if (typeof regex !== 'string') return undefined
  return tokenGrammar(regex) ?? 'wrong'
}

/** Undefined where the pattern is none. */
export function tokenGrammar(pattern: string): ((id: number) => boolean) | undefined {
  try {
    const form = new RegExp(`^(?:${pattern})$`)
    return id => form.test(toyText([id]).trim())
  } catch {
    return undefined
  }
}

const number = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)
export const record = <T = number>(value: unknown): Readonly<Record<string, T>> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, T>) : undefined
