/**
 * The interface between `RemoteGenerator` and a kind of server (vLLM, SGLang). `RemoteGenerator` owns the requests: replicas, retries,
 * partial responses, versions. A dialect owns the protocol: how requests are written and answers are read.
 */
import type { TopLogprobs } from '../generator.js'
import type { LogprobMeaning } from '../logprob-meaning.js'
import type { ResolvedSampling, StructuredKind } from '../sampling.js'
import { EngineError, ProtocolError, serverWords } from './errors.js'
import type { SentItem, SentMedia } from './sent-media.js'

/** Sends HTTP requests to one server. Each has a deadline: it resolves with a status, or rejects with an `EngineError`. */
export interface ServerConnection {
  /** Without user, password and query. */
  readonly url: string
  /** Requests carry an API key, or a user and a password. */
  readonly sendsKey?: boolean
  request(
    method: 'GET' | 'POST',
    path: string,
    options?: { body?: unknown; timeoutMs?: number; signal?: AbortSignal },
  ): Promise<{ status: number; text: string }>
}

/** What a server is and can do. Asked when it is connected, and again when it comes back. */
export interface ServerFacts {
  /** Version of its software. */
  readonly software: string
  /** The model's name in requests. */
  readonly model: string
  /** Most tokens of prompt and response together, and of a prompt alone. */
  readonly maxLength: number
  readonly maxPromptLength: number
  readonly logprobs: LogprobMeaning
  readonly topLogprobs: number
  /** Undefined: no limit. */
  readonly maxTemperature?: number
  /** Pause, resume and weights from a directory; or the option that the server was started without. */
  readonly control: 'full' | { readonly missing: string }
  /** Answers name the weights of each token, as `update` named them. Otherwise requests are broken off and sent again at an update. */
  readonly marksVersions: boolean
  /**
   * `position`: the random number of a token depends on the seed and its place in the sequence, so the rest of a response keeps its
   * seed. `request`: each request draws from the beginning, so the rest needs another seed.
   */
  readonly seeds: 'position' | 'request'
  readonly sleep: boolean
  readonly adapters: boolean
  /** With tied embeddings, loading a checkpoint changes the embedding but not the output head. */
  readonly keepsTiedHead?: boolean
  readonly structured: readonly StructuredKind[]
  /** The version or flag that the missing kinds need. */
  readonly structuredNeeds?: string
  /** Kinds of media that it reads. */
  readonly media: readonly SentItem['kind'][]
  /** Why it reads no others. */
  readonly mediaNeeds?: string | undefined
  /** Frames of a second that it takes for every video; undefined: what a request says, or the model reads no times. */
  readonly videoRate?: number | undefined
  /** Whether it supports audio, or why not. Undefined: not asked. */
  readonly audio?: 'supported' | { readonly missing: string } | undefined
  /** Facts that only the dialect reads. */
  readonly [further: string]: unknown
}

/** One request for one response, or for the rest of one. */
export interface GenerationAttempt {
  /** Never used twice. */
  readonly id: string
  /** The prompt, followed by the tokens sampled before. */
  readonly ids: Int32Array
  /** Images, videos and sounds. Undefined: text alone. */
  readonly media?: SentMedia | undefined
  /** `ids` as JSON, shared by the samples of a prompt. With `media`, each image and video has one placeholder here. */
  readonly idsJson: string
  readonly maxNewTokens: number
  readonly minNewTokens: number
  readonly temperature: number
  readonly seed: number
  /** Everything else: filters, stops, forbidden ids, alternatives, structure. */
  readonly sampling: ResolvedSampling
  /** The loaded adapter to sample from; undefined: the model's own weights. */
  readonly adapter: string | undefined
  /** Also the prompt's log-probabilities, with this many of the likeliest tokens. */
  readonly promptLogprobs: number | undefined
  readonly transport: 'whole' | 'stream'
}

/** A whole answer, or what one event of a stream adds. */
export interface GenerationAnswer {
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
  /** One per id, where top log-probabilities were asked for. */
  readonly top: readonly TopLogprobs[] | undefined
  /** Undefined before the end. */
  readonly finish:
    | { readonly reason: 'stop' | 'length' | 'abort'; readonly stop: string | number | undefined }
    | undefined
  /** With the server's names of weights, over the ids of the whole attempt. Only at the end. */
  readonly versions: readonly { readonly version: string; readonly start: number; readonly end: number }[] | undefined
  readonly promptLogprobs: { readonly logprobs: Float32Array; readonly top: readonly TopLogprobs[] } | undefined
  /** The prompt as the server read it, where the attempt has media: in a whole answer, and in the first event of a stream. */
  readonly promptIds?: readonly number[] | undefined
}

/** What an error status means for the sample. */
export type Refusal =
  /** The prompt does not fit: the sample ends. */
  | { readonly kind: 'prompt-too-long'; readonly message: string }
  /** The server was restarted and does not have these weights. */
  | { readonly kind: 'unknown-weights'; readonly message: string }
  /** A retry would fail too. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It may succeed later, or on another server. */
  | { readonly kind: 'retry'; readonly message: string; readonly afterMs: number | undefined }

export type DialectUpdate =
  /** Only the name of the weights changes. Only where `marksVersions`. */
  | { readonly kind: 'name'; readonly marker: string }
  | { readonly kind: 'directory'; readonly path: string; readonly marker: string }
  | { readonly kind: 'adapter'; readonly path: string; readonly name: string }

/** What a server tells without being changed. */
export interface InspectedServer {
  readonly software: string
  /** Undefined: only known when a run connects. */
  readonly control: ServerFacts['control'] | undefined
  readonly keepsTiedHead: boolean
}

export interface Dialect {
  readonly type: 'vllm' | 'sglang'
  /** Changes nothing on the server: another run may use it. */
  inspect(server: ServerConnection): Promise<InspectedServer>
  /** Throws an `EngineError` where the server lacks what every run needs; the message names the version that has it. */
  probe(server: ServerConnection): Promise<ServerFacts>
  /** Whether it takes requests. Cheap, and safe while it is paused. */
  isReady(server: ServerConnection): Promise<boolean>

  /** Work of the server before a request with media; `generation` gets the result. Undefined: none is needed. */
  prepare?(server: ServerConnection, attempt: GenerationAttempt, facts: ServerFacts): Promise<string> | undefined
  generation(
    attempt: GenerationAttempt,
    facts: ServerFacts,
    prepared?: string,
  ): { readonly path: string; readonly body: string }
  /** Reads a whole, parsed answer. Throws a `ProtocolError` where it breaks the protocol. */
  answer(body: unknown, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer
  /** Reads an answer without parsing all of it; undefined where it cannot. */
  quickAnswer?(text: string, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer | undefined
  /** Returns what each event of a stream adds, also where events are cumulative. Throws a `RefusalError` for an error event. */
  reader(attempt: GenerationAttempt, facts: ServerFacts): (event: string) => GenerationAnswer | undefined
  refusal(status: number, text: string, retryAfter: string | undefined): Refusal

  /** Ends running requests; they answer with the tokens they have. */
  abort(server: ServerConnection, attemptIds: readonly string[]): Promise<void>
  /** `keep`: requests wait, and go on with the weights of that time. `break-off`: they end with the tokens they have. */
  pause(server: ServerConnection, mode: 'keep' | 'break-off'): Promise<void>
  resume(server: ServerConnection): Promise<void>
  /** Between `pause` and `resume`. Clears the caches of the old weights. Errors have the server's own words. */
  update(server: ServerConnection, update: DialectUpdate, facts: ServerFacts): Promise<void>
  /** Unloads an adapter that no request uses. */
  unload(server: ServerConnection, name: string): Promise<void>
  /** Name of the weights it serves; undefined where the server does not tell. */
  marker(server: ServerConnection, facts: ServerFacts): Promise<string | undefined>
  /** A value that changes when the server restarts; undefined where it has none. */
  instance(server: ServerConnection): Promise<string | undefined>
  /** Data type of its weights, or the quantization; undefined where it does not tell. May take seconds. */
  dtype(server: ServerConnection): Promise<string | undefined>
  /** Only while no request runs. */
  sleep(server: ServerConnection): Promise<void>
  wake(server: ServerConnection): Promise<void>
}

interface ServerCall {
  /** Names the call in errors: `pausing`, `loading the weights in /ckpt/7`. */
  readonly step: string
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly timeoutMs?: number
}

/** Sends a request that is not generation. Returns the parsed answer; undefined where it is empty or not JSON. */
export async function callServer(server: ServerConnection, call: ServerCall): Promise<unknown> {
  const { method = 'POST', path, body, timeoutMs, step } = call
  const { status, text } = await server.request(method, path, {
    ...(body === undefined ? {} : { body }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  if (status < 200 || status > 299) throw stepError(server, step, status, text)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function stepError(server: ServerConnection, step: string, status: number, text: string): EngineError {
  const words = serverWords(text)
  const answered = `${server.url}: ${step}: the server answered ${status}${words === '' ? '' : `: ${words}`}`
  // A 403 with a message may forbid something other than the key.
  if (status !== 401 && !(status === 403 && words === '')) return new EngineError(answered)
  const key = server.sendsKey === false ? 'No API key was sent' : 'The server does not accept the API key'
  return new EngineError(`${answered}. ${key}.`, {
    remedy: "In a config, generator.apiKeyEnv names the environment variable that holds the server's key.",
  })
}

/** A JSON object, or a `ProtocolError`. */
export function asObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProtocolError(`${what} should be an object, got ${JSON.stringify(value)?.slice(0, 80)}`)
  return value as Readonly<Record<string, unknown>>
}

export function asArray(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value))
    throw new ProtocolError(`${what} should be a list, got ${JSON.stringify(value)?.slice(0, 80)}`)
  return value
}
