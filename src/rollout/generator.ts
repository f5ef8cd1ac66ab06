/**
 * Prompts in, samples out. What every engine that generates promises: a stream of outcomes in the order they finish, so that
 * rewards are computed while others still generate, each saying exactly what was seen, said, and by which weights.
 */
import type { PolicyVersion } from '../model/index.js'
import type { MediaItem } from '../sequence/index.js'
import type { LogprobMeaning } from './logprob-meaning.js'
import type { SamplingParams, StructuredKind } from './sampling.js'

export interface GenerationRequest {
  /** Names the request for `abort` and in its outcomes; no two requests in flight share it. */
  id: string
  promptIds: Int32Array
  /** Images and videos whose placeholders are among the prompt's ids; refused where `capabilities.media` is false. */
  media?: readonly MediaItem[]
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
  /** Of the sampled tokens, in the meanings the engine has. */
  logprobs: SampleLogprobs
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

/** Each by its meaning; `logprobsUnder` says which ones an engine gives for a way of sampling. */
export interface SampleLogprobs {
  /** Of the model's own distribution, before temperature and filters. */
  raw?: Float32Array
  /** Of the distribution they were drawn from. Greedy tokens have that of temperature 1, forbidden tokens left out. */
  processed?: Float32Array
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
  reason: 'empty-prompt' | 'prompt-too-long' | 'token-out-of-range' | 'too-large-for-memory' | 'media-unsupported'
  message: string
}

/**
 * `non-finite`: the weights gave logits nothing can be drawn from. `engine`: it broke. Of engines behind a network also
 * `timeout`, `unreachable`, and `protocol`: an answer that is not what was agreed on.
 */
export type FailureReason = 'non-finite' | 'engine' | 'timeout' | 'unreachable' | 'protocol'

/** A sample there will not be, for a reason that lies in the weights or the machine. */
export interface Failure extends OfSample {
  kind: 'failed'
  reason: FailureReason
  message: string
}

export type Outcome = Sample | Rejection | Failure

/** One sampled token, as it comes. */
export interface TokenEvent {
  requestId: string
  sample: number
  id: number
  /** Its log-probabilities, in the meanings the engine has. */
  raw: number | undefined
  processed: number | undefined
  top: TopLogprobs | undefined
  /** What the text grew by; text that may still become a stop string comes later. */
  text: string
}

export interface GenerateOptions {
  signal?: AbortSignal
  /** Called for every token, where the engine streams them; a request that wants text then gets it as it comes. */
  onToken?: (event: TokenEvent) => void
}

/** New weights and the ways to get them; an engine takes the one it can, and one in this process needs none. */
export interface WeightsUpdate {
  version: PolicyVersion
  /** A Hugging Face model directory. */
  directory?: string
  /** A directory with an adapter in PEFT's format, over the weights the engine was started with. */
  adapter?: string
  /** What an engine behind a network must answer once it has them. */
  proof?: WeightsProof
  /** Ends the wait for servers that are away; one that is loading weights is let finish. */
  signal?: AbortSignal
}

/** A text, and what the weights themselves give its tokens: an engine with other weights gives other numbers. */
export interface WeightsProof {
  ids: Int32Array
  /** Raw log-probabilities of the tokens from the second on. */
  logprobs: Float32Array
  /** Of the model that computed them: its rounding is part of the difference that is accepted. Default float32. */
  dtype?: string
}

/** How a server's log-probabilities of a proof differ from the trainer's: mean over tokens, and what is accepted. */
export interface WeightsAgreement {
  readonly difference: number
  readonly limit: number
}

export interface GeneratorCapabilities {
  /** What the log-probabilities it reports mean; see `logprobsUnder`. */
  logprobs: readonly LogprobMeaning[]
  /** The most of the likeliest tokens per position. */
  topLogprobs: number
  promptLogprobs: boolean
  /** `text`, `stop`: the engine has a tokenizer. */
  text: boolean
  /** `onToken`. */
  tokens: boolean
  media: boolean
  /** `structured`: what responses can be held to. */
  structured: readonly StructuredKind[]
  /** `sleep` and `wake` give a device's memory to others. */
  sleep: boolean
  weights: readonly ('shared' | 'directory' | 'adapter')[]
}

export interface GeneratorCounts {
  /** Sequences that generate, and that wait for it. */
  running: number
  waiting: number
  /** Computed and sampled since the engine was made. */
  promptTokens: number
  generatedTokens: number
  /** Of engines that tell: blocks of the KV cache, how often a sequence gave its blocks to others, steps. */
  usedBlocks?: number
  blocks?: number
  preemptions?: number
  steps?: number
}

export interface Generator {
  readonly capabilities: GeneratorCapabilities
  readonly counts: GeneratorCounts
  /** Tokens a prompt and its response may have together. */
  readonly maxLength: number
  readonly vocabSize: number
  /** Of the weights the next token is sampled from. */
  readonly policyVersion: PolicyVersion
  /** Of engines behind a network: how well the proof of these weights agreed; undefined where there was none. */
  readonly agreement?: WeightsAgreement | undefined
  /**
   * One outcome for every sample of every request, as each finishes. Requests are taken as there is room for them, and not
   * while outcomes wait to be read, so any number may come: a source of a million is never held in memory.
   *
   * Leaving the loop early cancels the rest, and ends the source. A signal ends what is under way with what it has, which is
   * still given; requests that were not taken have no outcome. An error of the source, a sampling parameter that means
   * nothing, the id of a request in flight, a signal that was aborted before, or a closed engine end the iteration: what is
   * under way is cancelled, outcomes that wait are given, then the error is thrown.
   */
  generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    options?: GenerateOptions,
  ): AsyncIterableIterator<Outcome, undefined>
  /** Ends a request's samples with what they have. */
  abort(requestId: string): void
  abortAll(): void
  /**
   * Resolves when nothing is computed, and nothing is before `resume`: for changing weights with requests in flight. Each
   * `pause` needs its own `resume`.
   */
  pause(): Promise<void>
  resume(): void
  /**
   * From the next token on the weights are these, and have this version. Requests in flight go on with them; see
   * `VersionSpan`.
   */
  updateWeights(update: WeightsUpdate): Promise<void>
  /**
   * Gives the memory for keys and values back; requests in flight wait. A later `generate` is an error until `wake`, unless the
   * engine is also paused: then it waits.
   */
  sleep(): Promise<void>
  wake(): Promise<void>
  /** Cancels everything and frees what the engine holds. */
  close(): Promise<void>
}
