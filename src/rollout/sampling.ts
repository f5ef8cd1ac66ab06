/** Sampling parameters. Pure. */

export interface SamplingParams {
  /** Seed of the random numbers; see `GenerationRequest.promptId`. */
  seed: number
  /** One limit for all samples, or one for each. */
  maxNewTokens: number | readonly number[]
  /** 0: always the likeliest token. Default 1. */
  temperature?: number
  /** The first token's own temperature (FIRE sampling); the others keep `temperature`. */
  firstTemperature?: number
  /** Samples from this many of the likeliest tokens. Default -1: all. */
  topK?: number
  /** Samples from the likeliest tokens that together have this probability, after `topK`. Default 1. */
  topP?: number
  /** Samples from tokens with at least this share of the likeliest token's probability. Default 0. */
  minP?: number
  /** End-of-sequence and stop ids are not sampled before this many tokens. Default 0. */
  minNewTokens?: number
  /** Tokens that end a response, besides the model's own. */
  stopIds?: readonly number[]
  /** Text that ends a response; needs an engine with a tokenizer. The response's ids end with the token that completed it. */
  stop?: readonly string[]
  /** The model's own end-of-sequence tokens do not end a response. */
  ignoreEos?: boolean
  /** Ids that are never sampled: media placeholders, unused special tokens. */
  forbiddenIds?: readonly number[]
  /** The response as text: `with-special`, or without special tokens. Default: no text unless `stop` needs it. */
  text?: 'plain' | 'with-special'
  /** Also return this many of the likeliest tokens at every position, and the sampled token's rank. */
  topLogprobs?: number
  /** Also return the prompt's log-probabilities, with this many of the likeliest tokens. */
  promptLogprobs?: number
  /** Structured output: the format of the response. Refused where `capabilities.structured` lacks its kind. */
  structured?: StructuredOutput
  /** Truncates a longer prompt to this many tokens. */
  truncatePromptTokens?: { limit: number; side: 'left' | 'right' }
}

/** A format that sampling keeps a response in. */
export type StructuredOutput =
  | { kind: 'regex'; pattern: string }
  | { kind: 'json-schema'; schema: Readonly<Record<string, unknown>> }
  /** A grammar in the EBNF that vLLM and SGLang share. */
  | { kind: 'ebnf'; grammar: string }
export type StructuredKind = StructuredOutput['kind']

/** With all defaults. */
export type ResolvedSampling = Required<Omit<SamplingParams, OptionalField>> & {
  [Field in OptionalField]: SamplingParams[Field] | undefined
}
type OptionalField = 'text' | 'topLogprobs' | 'promptLogprobs' | 'structured' | 'truncatePromptTokens'

/** Checks the parameters and fills in the defaults. Throws a RangeError that names a wrong value. */
export function resolveSampling(
  params: SamplingParams,
  { vocabSize, n, structured: forms = [] }: { vocabSize: number; n: number; structured?: readonly StructuredKind[] },
): ResolvedSampling {
  const temperature = params.temperature ?? 1
  // Field by field: a spread takes ten times as long, for every request.
  const resolved: ResolvedSampling = {
    seed: params.seed,
    maxNewTokens: params.maxNewTokens,
    temperature,
    firstTemperature: params.firstTemperature ?? temperature,
    topK: params.topK ?? -1,
    topP: params.topP ?? 1,
    minP: params.minP ?? 0,
    minNewTokens: params.minNewTokens ?? 0,
    stopIds: params.stopIds ?? [],
    stop: params.stop ?? [],
    ignoreEos: params.ignoreEos ?? false,
    forbiddenIds: params.forbiddenIds ?? [],
    text: params.text,
    topLogprobs: params.topLogprobs,
    promptLogprobs: params.promptLogprobs,
    structured: params.structured,
    truncatePromptTokens: params.truncatePromptTokens,
  }
  const wrong = (name: keyof SamplingParams, expected: string): never => {
    throw new RangeError(`${name} should be ${expected}, got ${JSON.stringify(resolved[name])}`)
  }
  const count = (value: number, least: number): boolean => Number.isSafeInteger(value) && value >= least
  const finite = (value: number): boolean => Number.isFinite(value) && value >= 0
  const known = (id: number): boolean => count(id, 0) && id < vocabSize
  const { maxNewTokens, firstTemperature, topK, topP, minP, truncatePromptTokens: cut } = resolved
  const lengths =
    typeof maxNewTokens === 'number'
      ? count(maxNewTokens, 1)
      : maxNewTokens.length === n && maxNewTokens.every(max => count(max, 1))
  if (!Number.isSafeInteger(resolved.seed)) wrong('seed', 'an integer')
  if (!lengths) wrong('maxNewTokens', `a positive integer, or ${n} of them, one for each sample`)
  if (!finite(temperature)) wrong('temperature', 'a number of at least 0')
  if (!finite(firstTemperature)) wrong('firstTemperature', 'a number of at least 0')
  if (topK !== -1 && !count(topK, 1)) wrong('topK', 'a positive integer, or -1')
  if (!(topP > 0 && topP <= 1)) wrong('topP', 'above 0 and at most 1')
  if (!(minP >= 0 && minP <= 1)) wrong('minP', 'between 0 and 1')
  if (!count(resolved.minNewTokens, 0)) wrong('minNewTokens', 'an integer of at least 0')
  if (!resolved.stopIds.every(known)) wrong('stopIds', `ids below ${vocabSize}`)
  if (!resolved.forbiddenIds.every(known)) wrong('forbiddenIds', `ids below ${vocabSize}`)
  if (!resolved.stop.every(text => typeof text === 'string' && text !== '')) wrong('stop', 'strings that are not empty')
  for (const name of ['topLogprobs', 'promptLogprobs'] as const) {
    const wanted = resolved[name]
    if (wanted !== undefined && !(count(wanted, 0) && wanted <= vocabSize)) wrong(name, 'a count of tokens')
  }
  const form = resolved.structured?.kind
  if (form !== undefined && !forms.includes(form))
    throw new RangeError(
      `structured: this engine does not support ${form}; it supports ${forms.length === 0 ? 'no structured output' : forms.join(', ')}`,
    )
  if (cut !== undefined && !count(cut.limit, 1)) wrong('truncatePromptTokens', 'a limit of at least 1')
  return resolved
}

/** A prompt cut to `truncatePromptTokens`. */
export function truncated(ids: Int32Array, cut: ResolvedSampling['truncatePromptTokens']): Int32Array {
  if (!cut || ids.length <= cut.limit) return ids
  return cut.side === 'right' ? ids.slice(0, cut.limit) : ids.slice(-cut.limit)
}
