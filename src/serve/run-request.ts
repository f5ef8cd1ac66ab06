/** One HTTP request's prompts through the engine: samples for a plain answer, tokens as they come for a stream. */
import { randomUUID } from 'node:crypto'
import type { FailureReason, GenerationRequest, Generator, Sample, TokenEvent } from '../rollout/index.js'
import { ApiError, badRequest } from './errors.js'
import { type RequestCost, requestCost } from './request-cost.js'
import { anySeed, type SamplingRequest } from './sampling-fields.js'

export interface Generation {
  /** Names the answer. */
  id: string
  prompts: readonly Int32Array[]
  sampling: SamplingRequest
  /** Of each prompt, clamped to what the context leaves. */
  maxTokens: number | undefined
  /** The alternatives of each token that are told; undefined: no log-probabilities at all. */
  logprobs: number | undefined
  /** Those the engine is asked for; with 0 it gives the token's rank. */
  topLogprobs: number | undefined
}

/** What a prompt becomes where it is to be truncated. */
const lengthOf = (prompt: Int32Array, { params: { truncatePromptTokens: cut } }: SamplingRequest): number =>
  Math.min(prompt.length, cut?.limit ?? prompt.length)

export function costOf({ prompts, sampling, maxTokens, logprobs }: Generation, maxLength: number): RequestCost {
  return requestCost({
    promptLengths: prompts.map(prompt => lengthOf(prompt, sampling)),
    n: sampling.n,
    maxLength,
    maxTokens,
    logprobs,
    promptLogprobs: sampling.params.promptLogprobs,
  })
}

export interface Limits {
  vocabSize: number
  maxLength: number
  /** The model's own end-of-sequence tokens, as far as they are known. */
  eosIds: readonly number[]
}

/** Refuses, as vLLM words it, what the engine would reject. */
export function checkPrompts({ prompts, maxTokens, sampling }: Generation, limits: Limits): void {
  const { vocabSize, maxLength } = limits
  if (maxTokens !== undefined && maxTokens > maxLength)
    throw badRequest(
      `max_tokens=${maxTokens} cannot be greater than max_model_len=${maxLength}. Please request fewer output tokens.`,
      'max_tokens',
    )
  if (maxTokens !== undefined && maxTokens < 1)
    throw badRequest(`max_tokens must be at least 1, got ${maxTokens}.`, 'max_tokens')
  const { minNewTokens = 0, stopIds = [], forbiddenIds = [] } = sampling.params
  if (maxTokens !== undefined && minNewTokens > maxTokens)
    throw badRequest(
      `min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minNewTokens}.`,
      'min_tokens',
    )
  for (const ids of [stopIds, forbiddenIds, ...prompts]) {
    const stray = outside(ids, vocabSize)
    if (stray !== undefined) throw badRequest(`Token id ${stray} is out of vocabulary`)
  }
  checkChoice(sampling, limits)
  for (const prompt of prompts) {
    const length = lengthOf(prompt, sampling)
    if (length > maxLength) throw tooLong(length, maxLength)
    if (length === maxLength)
      throw badRequest(
        `max_tokens must be at least 1, got 0. The prompt fills the context of ${maxLength}.`,
        'max_tokens',
      )
  }
}

export const tooLong = (length: number | string, maxLength: number): ApiError =>
  badRequest(
    `This model's maximum context length is ${maxLength} tokens. However, your prompt contains ${length} input tokens, please reduce the length of the input prompt.`,
    'input_tokens',
  )

function outside(ids: ArrayLike<number>, vocabSize: number): number | undefined {
  for (let i = 0; i < ids.length; i++) if (!(ids[i]! >= 0 && ids[i]! < vocabSize)) return ids[i]
  return undefined
}

/** Something has to be left to sample: with `min_tokens` the first tokens are none that end a response. */
function checkChoice({ params }: SamplingRequest, { vocabSize, eosIds }: Limits): void {
  const { minNewTokens = 0, stopIds = [], forbiddenIds = [] } = params
  if (forbiddenIds.length === 0) return
  const never = new Set(forbiddenIds)
  if (minNewTokens > 0) for (const id of [...stopIds, ...eosIds]) never.add(id)
  if (never.size >= vocabSize)
    throw badRequest(`logit_bias forbids every token: of ${vocabSize} none is left to sample.`, 'logit_bias')
}

export interface Progress {
  onToken?: (prompt: number, event: TokenEvent) => void
  onSample: (prompt: number, sample: Sample) => void
}

const failureStatus: Readonly<Record<FailureReason, number>> = {
  'non-finite': 500,
  engine: 500,
  protocol: 502,
  unreachable: 503,
  timeout: 504,
}

/** Resolves when every sample has ended; a signal cancels them. Throws where a sample failed. */
export async function runGeneration(
  engine: Generator,
  { prompts, sampling, maxTokens, topLogprobs }: Generation,
  { onToken, onSample }: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { params, n, seed } = sampling
  // A client may give two requests one name; in the engine each has its own.
  const name = randomUUID()
  const indexOf = new Map(prompts.map((_, i) => [`${name}-${i}`, i]))
  const requests = prompts.map(
    (promptIds, i): GenerationRequest => ({
      id: `${name}-${i}`,
      // With a seed of the client's own nothing else names the stream: the same request gives the same tokens.
      promptId: '',
      promptIds,
      n,
      sampling: {
        ...params,
        seed: seed ?? anySeed(),
        maxNewTokens: maxTokens ?? engine.maxLength,
        ...(topLogprobs === undefined ? {} : { topLogprobs }),
      },
    }),
  )
  signal.throwIfAborted()
  try {
    const options = {
      signal,
      ...(onToken ? { onToken: (event: TokenEvent) => onToken(indexOf.get(event.requestId)!, event) } : {}),
    }
    for await (const outcome of engine.generate(requests, options)) {
      if (outcome.kind === 'rejected') throw badRequest(outcome.message)
      if (outcome.kind === 'failed') throw new ApiError(failureStatus[outcome.reason], outcome.message)
      onSample(indexOf.get(outcome.requestId)!, outcome)
    }
  } catch (error) {
    throw error instanceof RangeError ? badRequest(error.message) : error
  }
  signal.throwIfAborted()
}

/** A prompt counts once, however many samples it has. */
export function usage(found: readonly Sample[], { sampling: { n } }: Generation, tokens?: number): object {
  const prompt = found.reduce((sum, { promptIds }, i) => sum + (i % n === 0 ? promptIds.length : 0), 0)
  const completion = tokens ?? found.reduce((sum, { responseIds }) => sum + responseIds.length, 0)
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion }
}
