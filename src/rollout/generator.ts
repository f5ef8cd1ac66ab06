/**
 * The contract of every engine: prompts in, samples out. Outcomes come in the order they finish, so that rewards are computed while other
 * samples still generate. Each tells the prompt, the response and the weights that made it.
 */
import type { PolicyVersion } from '../model/index.js'
import type { AudioClip, MediaItem } from '../sequence/index.js'
import type { LogprobMeaning } from './logprob-meaning.js'
import type { SamplingParams, StructuredKind } from './sampling.js'

export interface GenerationRequest {
  /** Names the request in `abort` and in outcomes; unique among the requests in flight. */
  id: string
  promptIds: Int32Array
  /** Images and videos whose placeholders are among the prompt's ids; refused where `capabilities.media` is false. */
  media?: readonly MediaItem[]
  /** Sounds, for servers that take them; refused where `capabilities.audio` is not true. */
  audios?: readonly AudioClip[]
  /**
   * Names the prompt for random numbers: a sample depends only on the weights, the prompt, the sampling parameters and (seed, prompt id,
   * sample index). Default: the request's id.
   */
  promptId?: string
  /** Number of samples; they share the prompt's KV cache. Default 1. */
  n?: number
  /** Index of the first sample. Default 0. */
  firstSample?: number
  sampling: SamplingParams
  /**
   * Names a conversation of several requests, each of whose prompts begins with the one before and its response. An engine may keep the
   * KV cache of the conversation until `release`, or go on with the server that has it. It changes speed, not samples. Needs `n` of 1.
   */
  session?: string
}

/** The version of the weights that made the tokens `start..end` of a response. */
export interface VersionSpan {
  version: PolicyVersion
  start: number
  end: number
}

/** The likeliest tokens at one position, likeliest first, with raw log-probabilities; `rank` of the sampled token. */
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
  /** The prompt that the model saw, after truncation. */
  promptIds: Int32Array
  /** The sampled tokens, with the token that ended the response. */
  responseIds: Int32Array
  /** Sampled placeholders that no image belongs to: models do not read them, and they are not trained. */
  unread?: readonly { readonly at: number; readonly reason: 'surplus-image' | 'surplus-video' }[]
  /** `abort`: cancelled. A request whose prompt is prompt and response together continues it. */
  finishReason: 'stop' | 'length' | 'abort'
  /** The stop string or stop id that ended it; undefined for the end-of-sequence token. */
  stopReason: string | number | undefined
  /** Of the sampled tokens, in the meanings that the engine gives. */
  logprobs: SampleLogprobs
  topLogprobs: readonly TopLogprobs[] | undefined
  /** Raw ones of the prompt's tokens from the second on, where the request asked for them. SGLang gives NaN for tokens of images. */
  promptLogprobs: { logprobs: Float32Array; top: readonly TopLogprobs[] } | undefined
  /** The response as text, up to a stop string. Only where the engine has a tokenizer and the request asked for text. */
  text: string | undefined
  /** Version of the weights that made the first token. */
  policyVersion: PolicyVersion
  /** Several where the weights changed during the response. */
  versions: readonly VersionSpan[]
  timings: Timings
}

/** Log-probabilities by meaning; `logprobsUnder` tells which ones an engine gives for sampling parameters. */
export interface SampleLogprobs {
  /** Of the model's own distribution, before temperature and filters. */
  raw?: Float32Array
  /** Of the distribution that tokens were drawn from. For greedy tokens that of temperature 1, without forbidden tokens. */
  processed?: Float32Array
}

interface Timings {
  /** Milliseconds from the request to its first computation, its first token, its end. */
  startedMs: number
  firstTokenMs: number | undefined
  finishedMs: number
  /** How often its KV cache was given to other samples and computed again. */
  preemptions: number
}

/** A sample that cannot be made because of its request. */
export interface Rejection extends OfSample {
  kind: 'rejected'
  reason:
    | 'empty-prompt'
    | 'prompt-too-long'
    | 'token-out-of-range'
    | 'too-large-for-memory'
    /** The engine takes no images or videos. */
    | 'media-unsupported'
    /** The placeholders among the ids are not those of the images and videos. */
    | 'media-mismatch'
  message: string
}

/**
 * `non-finite`: logits were NaN or infinite. `engine`: the engine failed. Engines behind a network also have `timeout`, `unreachable` and
 * `protocol` (an answer that breaks the protocol) and `media-tokens` (a response with placeholders that no image or video belongs to).
 */
export type FailureReason = 'non-finite' | 'engine' | 'timeout' | 'unreachable' | 'protocol' | 'media-tokens'

/** A sample that failed because of the weights or the machine. */
export interface Failure extends OfSample {
  kind: 'failed'
  reason: FailureReason
  message: string
}

export type Outcome = Sample | Rejection | Failure

/** One sampled token of a stream. */
export interface TokenEvent {
  requestId: string
  sample: number
  id: number
  /** Its log-probabilities, in the meanings that the engine gives. */
  raw: number | undefined
  processed: number | undefined
  top: TopLogprobs | undefined
  /** The text that this token adds; text that may become a stop string is held back. */
  text: string
}

export interface GenerateOptions {
  signal?: AbortSignal
  /** Called for every token, with its text where the request asked for text. Only of engines with `capabilities.tokens`. */
  onToken?: (event: TokenEvent) => void
}

/** New weights, and where to read them: an engine takes what it supports. An engine in this process needs no source. */
export interface WeightsUpdate {
  version: PolicyVersion
  /** A Hugging Face model directory. */
  directory?: string
  /** A directory with an adapter in PEFT's format, for the weights that the engine was started with. */
  adapter?: string
  /** Checks that an engine behind a network has loaded them. */
  proof?: WeightsProof
  /** Ends the wait for servers that are down; a server that is loading finishes. */
  signal?: AbortSignal
}

/** A text and its log-probabilities under the new weights: other weights give other log-probabilities. */
export interface WeightsProof {
  ids: Int32Array
  /** Images among the ids, where the model has a tower: they prove its weights too, and that no features of older ones are kept. */
  media?: readonly MediaItem[]
  /** Raw log-probabilities of the tokens from the second on. */
  logprobs: Float32Array
  /** Data type of the model that computed them; its rounding is allowed for. Default float32. */
  dtype?: string
}

/** The mean difference between a server's log-probabilities of a proof and the trainer's, and its limit. */
export interface WeightsAgreement {
  readonly difference: number
  readonly limit: number
}

export interface GeneratorCapabilities {
  /** Meanings of the reported log-probabilities; see `logprobsUnder`. */
  logprobs: readonly LogprobMeaning[]
  /** Largest `topLogprobs`. */
  topLogprobs: number
  promptLogprobs: boolean
  /** `text`, `stop`: the engine has a tokenizer. */
  text: boolean
  /** `onToken`. */
  tokens: boolean
  media: boolean
  /** Whether requests may have sounds. Default: they may not. */
  audio?: boolean
  /** Kinds of `structured` output. */
  structured: readonly StructuredKind[]
  /** `sleep` frees device memory. */
  sleep: boolean
  weights: readonly ('shared' | 'directory' | 'adapter')[]
}

export interface GeneratorCounts {
  /** Sequences that generate, and sequences that wait. */
  running: number
  waiting: number
  /** Since the engine was made. */
  promptTokens: number
  generatedTokens: number
  /** Only of some engines: blocks of the KV cache, preemptions, steps. */
  usedBlocks?: number
  blocks?: number
  preemptions?: number
  steps?: number
}

export interface Generator {
  readonly capabilities: GeneratorCapabilities
  readonly counts: GeneratorCounts
  /** Most tokens of prompt and response together. */
  readonly maxLength: number
  readonly vocabSize: number
  /** Version of the weights that the next token is sampled from. */
  readonly policyVersion: PolicyVersion
  /** Engines behind a network: the result of the last proof; undefined where there was none. */
  readonly agreement?: WeightsAgreement | undefined
  /**
   * One outcome for every sample of every request, in the order they finish. Requests are read as there is room, and not while outcomes
   * wait to be read: a source of a million requests is never held in memory.
   *
   * Leaving the loop early cancels the rest and ends the source. A signal ends running samples; their tokens so far are still given.
   * Requests that were not read have no outcome. The iteration throws for an error of the source, a wrong sampling parameter, an id that
   * is in flight, a signal that was aborted before, and a closed engine: it cancels running samples, gives the waiting outcomes, then
   * throws.
   */
  generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    options?: GenerateOptions,
  ): AsyncIterableIterator<Outcome, undefined>
  /** Ends the samples of a request; they keep their tokens. */
  abort(requestId: string): void
  abortAll(): void
  /** A session is over: what the engine keeps for it may go. An unknown session is no error. */
  release?(session: string): void
  /** Resolves when the engine computes nothing until `resume`: weights can be changed with requests in flight. Each `pause` needs a `resume`. */
  pause(): Promise<void>
  resume(): void
  /** The next token is sampled from these weights, with this version. Requests in flight go on with them; see `VersionSpan`. */
  updateWeights(update: WeightsUpdate): Promise<void>
  /** Frees the memory of the KV cache; requests in flight wait. `generate` throws until `wake`, or waits where the engine is also paused. */
  sleep(): Promise<void>
  wake(): Promise<void>
  /** Cancels all requests and frees all memory. */
  close(): Promise<void>
}
