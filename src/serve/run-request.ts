/** One HTTP request's prompts through the engine: outcomes for a plain answer, tokens as they come for a stream. */
import { randomUUID } from 'node:crypto'
import type { GenerationRequest, Generator, Sample, SamplingParams, TokenEvent } from '../rollout/index.js'
import { ApiError, badRequest } from './errors.js'
import { anySeed, type SamplingRequest } from './sampling-fields.js'

export interface Generation {
  /** Names the answer. */
  id: string
  prompts: readonly Int32Array[]
  sampling: SamplingRequest
  /** Of each prompt, clamped to what the context leaves. */
  maxTokens: number | undefined
  topLogprobs: number | undefined
}

export interface Limits {
  vocabSize: number
  maxLength: number
}

/** Of one request: prompts times `n`. */
const maxSamples = 4096

/** Refuses, as vLLM words it, what the engine would reject. */
export function checkPrompts({ prompts, maxTokens, sampling }: Generation, { vocabSize, maxLength }: Limits): void {
  const samples = prompts.length * sampling.n
  if (samples > maxSamples)
    throw badRequest(`a request may have ${maxSamples} choices in all, this one has ${samples}.`, 'n')
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
  const outside = (ids: Iterable<number>): number | undefined => {
    for (const id of ids) if (!(id >= 0 && id < vocabSize)) return id
    return undefined
  }
  const stray = outside([...stopIds, ...forbiddenIds])
  if (stray !== undefined) throw badRequest(`Token id ${stray} is out of vocabulary`)
  for (const prompt of prompts) {
    const id = outside(prompt)
    if (id !== undefined) throw badRequest(`Token id ${id} is out of vocabulary`)
    const length = Math.min(prompt.length, sampling.params.truncatePromptTokens?.limit ?? prompt.length)
    if (length > maxLength)
      throw badRequest(
        `This model's maximum context length is ${maxLength} tokens. However, your prompt contains ${length} input tokens, please reduce the length of the input prompt.`,
        'input_tokens',
      )
    if (length === maxLength)
      throw badRequest(
        `max_tokens must be at least 1, got 0. The prompt fills the context of ${maxLength}.`,
        'max_tokens',
      )
  }
}

export interface Progress {
  onToken?: (prompt: number, event: TokenEvent) => void
  onCompletion: (prompt: number, completion: Sample) => void
}

/** Resolves when every sample has ended; a signal cancels them. Throws where a sample failed. */
export async function runGeneration(
  engine: Generator,
  { prompts, sampling, maxTokens, topLogprobs }: Generation,
  { onToken, onCompletion }: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { params, n, seed } = sampling
  // A client may give two requests one name; in the engine each has its own.
  const name = randomUUID()
  const promptOf = ({ requestId }: { requestId: string }): number => Number(requestId.slice(name.length + 1))
  const requests = prompts.map((promptIds, i): GenerationRequest => {
    const full: SamplingParams = {
      ...params,
      seed: seed ?? anySeed(),
      maxNewTokens: maxTokens ?? engine.maxLength,
      ...(topLogprobs === undefined ? {} : { topLogprobs }),
    }
    // With a seed of the client's own nothing else names the stream: the same request gives the same tokens.
    return { id: `${name}-${i}`, promptId: '', promptIds, n, sampling: full }
  })
  const tokens = onToken && { onToken: (event: TokenEvent) => onToken(promptOf(event), event) }
  try {
    for await (const outcome of engine.generate(requests, { signal, ...tokens })) {
      if (outcome.kind === 'rejected') throw badRequest(outcome.message)
      if (outcome.kind === 'failed') throw new ApiError(500, outcome.message)
      onCompletion(promptOf(outcome), outcome)
    }
  } catch (error) {
    throw error instanceof RangeError ? badRequest(error.message) : error
  }
}

/** A prompt counts once, however many samples it has. */
export function usage(found: readonly Sample[], { sampling: { n } }: Generation, tokens?: number): object {
  const prompt = found.reduce((sum, { promptIds }, i) => sum + (i % n === 0 ? promptIds.length : 0), 0)
  const completion = tokens ?? found.reduce((sum, { responseIds }) => sum + responseIds.length, 0)
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion }
}
