/** Runs the prompts of an HTTP request through the engine: samples for a plain answer, tokens for a stream. */
import { randomUUID } from 'node:crypto'
import type { FailureReason, GenerationRequest, Generator, Sample, TokenEvent } from '../rollout/index.js'
import type { MediaItem } from '../sequence/index.js'
import { ApiError, badRequest } from './errors.js'
import type { Flight, InFlight } from './in-flight.js'
import type { Told } from './logprobs-mode.js'
import { type RequestCost, requestCost } from './request-cost.js'
import { anySeed, type SamplingRequest } from './sampling-fields.js'
import type { WeightSet, WeightTurns } from './weight-turns.js'

export interface Generation {
  /** Id of the answer. */
  id: string
  /** The weights to sample from. */
  weights: WeightSet
  prompts: readonly Int32Array[]
  /** Of each prompt; undefined: all are text. */
  media?: readonly (readonly MediaItem[])[]
  sampling: SamplingRequest
  /** Of each prompt; limited to the rest of the context. */
  maxTokens: number | undefined
  /** Number of alternatives in the answer; undefined: no log-probabilities. */
  logprobs: number | undefined
  /** Number of alternatives that the engine is asked for; with 0 it gives the token's rank. */
  topLogprobs: number | undefined
  /** Makes the log-probabilities of a token. */
  told: Told
}

/** The length of a prompt after truncation. */
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
  /** The model's end-of-sequence tokens, as far as they are known. */
  eosIds: readonly number[]
}

/** Refuses what the engine would reject, with vLLM's messages. */
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

/** At least one token must be allowed; with `min_tokens`, the first tokens cannot end a response. */
function checkChoice({ params }: SamplingRequest, { vocabSize, eosIds }: Limits): void {
  const { minNewTokens = 0, stopIds = [], forbiddenIds = [] } = params
  if (forbiddenIds.length === 0) return
  const never = new Set(forbiddenIds)
  if (minNewTokens > 0) for (const id of [...stopIds, ...eosIds]) never.add(id)
  if (never.size >= vocabSize)
    throw badRequest(`logit_bias forbids every token: of ${vocabSize} none is left to sample.`, 'logit_bias')
}

interface Progress {
  onToken?: (prompt: number, event: TokenEvent) => void
  onSample: (prompt: number, sample: Sample) => void
}

const failureStatus: Readonly<Record<FailureReason, number>> = {
  'non-finite': 500,
  engine: 500,
  protocol: 502,
  'media-tokens': 502,
  unreachable: 503,
  timeout: 504,
}

/** What a generation needs. */
export interface Runner {
  engine: Generator
  inFlight: InFlight
  /** Only where requests can choose between sets of weights. */
  turns: WeightTurns | undefined
}

/** Resolves when every sample has ended. Throws where a sample failed. The signal cancels the samples. */
export async function runGeneration(
  { engine, inFlight, turns }: Runner,
  request: Generation,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const requests = requestsOf(request, engine)
  const flight = inFlight.add(
    request.id,
    requests.map(({ id }) => id),
  )
  const cancel = (): void => flight.abort()
  signal.addEventListener('abort', cancel)
  let leave: (() => void) | undefined
  try {
    leave = await turns?.enter(request.weights, flight.signal).catch(error => {
      // Aborted before its turn.
      if (!flight.signal.aborted) throw error
      return undefined
    })
    const ended = await follow(engine, requests, flight, progress)
    for (const [prompt, { n = 1 }] of requests.entries())
      for (let sample = 0; sample < n; sample++)
        if (!ended.has(`${prompt}/${sample}`)) progress.onSample(prompt, unsampled(requests[prompt]!, sample, engine))
  } catch (error) {
    throw error instanceof RangeError ? badRequest(error.message) : error
  } finally {
    leave?.()
    signal.removeEventListener('abort', cancel)
    flight.land()
  }
  signal.throwIfAborted()
}

function requestsOf(
  { prompts, media, sampling, maxTokens, topLogprobs }: Generation,
  engine: Generator,
): GenerationRequest[] {
  const { params, n, seed } = sampling
  // Clients may use an id twice; ids in the engine are unique.
  const name = randomUUID()
  return prompts.map((promptIds, i) => ({
    id: `${name}-${i}`,
    // Random numbers depend only on the client's seed: the same request gives the same tokens.
    promptId: '',
    promptIds,
    ...(media?.[i]?.length ? { media: media[i] } : {}),
    n,
    sampling: {
      ...params,
      seed: seed ?? anySeed(),
      maxNewTokens: maxTokens ?? engine.maxLength,
      ...(topLogprobs === undefined ? {} : { topLogprobs }),
    },
  }))
}

/** Passes tokens and samples on. Returns the samples that have an outcome. */
async function follow(
  engine: Generator,
  requests: readonly GenerationRequest[],
  flight: Flight,
  { onToken, onSample }: Progress,
): Promise<Set<string>> {
  const ended = new Set<string>()
  if (flight.signal.aborted) return ended
  const indexOf = new Map(requests.map(({ id }, i) => [id, i]))
  function* source(): Iterable<GenerationRequest> & Iterator<GenerationRequest> {
    for (const [i, request] of requests.entries()) if (!flight.isAborted(i)) yield request
  }
  const options = {
    signal: flight.signal,
    ...(onToken ? { onToken: (event: TokenEvent) => onToken(indexOf.get(event.requestId)!, event) } : {}),
  }
  for await (const outcome of engine.generate(source(), options)) {
    if (outcome.kind === 'rejected') throw badRequest(outcome.message)
    if (outcome.kind === 'failed') throw new ApiError(failureStatus[outcome.reason], outcome.message)
    const prompt = indexOf.get(outcome.requestId)!
    ended.add(`${prompt}/${outcome.sample}`)
    onSample(prompt, outcome)
  }
  return ended
}

/** A sample that was aborted before the engine had taken it. */
function unsampled({ id, promptIds, sampling }: GenerationRequest, sample: number, engine: Generator): Sample {
  return {
    kind: 'completed',
    ...{ requestId: id, promptId: '', sample, seed: sampling.seed, promptIds },
    responseIds: new Int32Array(0),
    finishReason: 'abort',
    stopReason: undefined,
    logprobs: {},
    topLogprobs: undefined,
    promptLogprobs: sampling.promptLogprobs === undefined ? undefined : { logprobs: new Float32Array(0), top: [] },
    text: sampling.text === undefined ? undefined : '',
    policyVersion: engine.policyVersion,
    versions: [],
    timings: { startedMs: 0, firstTokenMs: undefined, finishedMs: 0, preemptions: 0 },
  }
}

/** A prompt counts once, also with several samples. */
export function usage(found: readonly Sample[], { sampling: { n } }: Generation, tokens?: number): object {
  const prompt = found.reduce((sum, { promptIds }, i) => sum + (i % n === 0 ? promptIds.length : 0), 0)
  const completion = tokens ?? found.reduce((sum, { responseIds }) => sum + responseIds.length, 0)
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion }
}
