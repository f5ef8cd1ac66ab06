/**
 * Prompts in, samples out. What every engine that generates promises: a stream of outcomes in the order they finish, so that
 * rewards are computed while others still generate, each saying exactly what was seen, said, and by which weights.
 */
import type { SamplingParams } from './sampling.js'

/** Counts the changes of a policy's weights. */
export type PolicyVersion = number

export interface GenerationRequest {
  /** Names the request for `abort` and in its outcomes; no two requests in flight share it. */
  id: string
  promptIds: Int32Array
  /**
   * Names the prompt in the stream of random numbers: a sample is a function of the weights, the prompt, the sampling
   * parameters and (seed, prompt id, sample index) alone. Default: the request's id.
   */
  promptId?: string
  /** How many samples. Default 1. They share the prompt's keys and values. */
  n?: number
  /** The index of the first of them. Default 0. */
  firstSample?: number
  sampling: SamplingParams
}

/** Which weights made the tokens `start..end` of a response. */
export interface VersionSpan {
  version: PolicyVersion
  start: number
  end: number
}

/** The likeliest tokens at one position, with raw log-probabilities, likeliest first; `rank` is the chosen token's. */
export interface TopLogprobs {
  rank: number
  ids: Int32Array
  logprobs: Float32Array
}

interface OfSample {
  requestId: string
  promptId: string
  /** The sample's index. */
  sample: number
  seed: number
}

export interface Sample extends OfSample {
  kind: 'completed'
  /** As the model saw it: after truncation, where the request asked for it. */
  promptIds: Int32Array
  /** As it was sampled, the token that ended it included. */
  responseIds: Int32Array
  /** `abort`: cancelled; what there is can be continued by a request whose prompt is prompt and response together. */
  finishReason: 'stop' | 'length' | 'abort'
  /** The stop string or stop id that ended it; undefined for the end-of-sequence token. */
  stopReason: string | number | undefined
  /** Of the sampled tokens. */
  logprobs: {
    /** Of the model's own distribution, before temperature and filters. */
    raw: Float32Array
    /** Of the distribution they were drawn from. Greedy tokens have that of temperature 1, forbidden tokens left out. */
    processed: Float32Array
  }
  topLogprobs: readonly TopLogprobs[] | undefined
  /** Of the prompt's tokens from the second on, where they were asked for; raw. */
  promptLogprobs: { logprobs: Float32Array; top: readonly TopLogprobs[] } | undefined
  /** The response as text, up to a stop string; where the engine has a tokenizer and the request wants text. */
  text: string | undefined
  /** Of the first token. */
  policyVersion: PolicyVersion
  /** More than one where the weights changed in between. */
  versions: readonly VersionSpan[]
  timings: Timings
}

export interface Timings {
  /** Milliseconds from the request to its first computation, its first token, its end. */
  startedMs: number
  firstTokenMs: number | undefined
  finishedMs: number
  /** How often its keys and values had to give way to others' and were computed again. */
  preemptions: number
}

/** A sample there will not be, for a reason that lies in the request. */
export interface Rejection extends OfSample {
  kind: 'rejected'
  reason: 'empty-prompt' | 'prompt-too-long' | 'token-out-of-range' | 'too-large-for-memory'
  message: string
}

/** A sample there will not be, for a reason that lies in the weights or the machine. */
export interface Failure extends OfSample {
  kind: 'failed'
  reason: 'non-finite' | 'engine'
  message: string
}

export type Outcome = Sample | Rejection | Failure

export interface Generator {
  /** One outcome for every sample of every request, as each finishes. Leaving the loop early cancels the rest. */
  generate(
    requests: Iterable<GenerationRequest>,
    options?: { signal?: AbortSignal },
  ): AsyncIterableIterator<Outcome, undefined>
  /** Ends a request's samples with what they have. */
  abort(requestId: string): void
  abortAll(): void
  /** From the next token on the weights are this version's. Requests in flight go on with them; see `VersionSpan`. */
  updateWeights(version: PolicyVersion): Promise<void>
  /** Gives the memory for keys and values back; requests in flight wait. */
  sleep(): Promise<void>
  wake(): Promise<void>
  /** Cancels everything and frees what the engine holds. */
  close(): Promise<void>
}
