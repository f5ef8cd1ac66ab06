/** Options of engines behind a network. */

import type { VisionConfig } from '../../decoder/index.js'
import { isApiKey, parseServerUrl, type ServerUrl } from '../../http/index.js'
import type { PolicyVersion } from '../../model/index.js'
import type { Tokenizer } from '../../text/index.js'
import { EngineError } from './errors.js'
import type { AudioConfig } from './sent-media.js'

export interface RemoteOptions {
  /** Servers of the same model: one, or several that share the work. */
  readonly urls: readonly string[]
  /** The model's vocabulary size: other ids are refused before a server sees them. */
  readonly vocabSize: number
  /** Of a model that reads images and videos; needed for requests with media. `config.decoder.vision` of a local model has it. */
  readonly vision?: VisionConfig
  /** Of a model that supports audio; needed for requests with `audios`. */
  readonly audio?: AudioConfig
  /** Needed for text and stop strings. */
  readonly tokenizer?: Tokenizer
  /** The served model's name. Default: the server's first model. */
  readonly model?: string
  /** The model's directory: weights of an update must have its names and shapes. */
  readonly modelDirectory?: string
  /** Sent as `authorization: Bearer`. Never shown. */
  readonly apiKey?: string
  /** Concurrent generations on each server. Default 256. */
  readonly maxInFlight?: number
  /** Time limit of a generation request. Default 30 minutes. */
  readonly requestTimeoutMs?: number
  /** Time limit of other requests, such as loading weights. Default 10 minutes. */
  readonly controlTimeoutMs?: number
  /** How long no server may be reachable before samples fail. Default 10 minutes. */
  readonly patienceMs?: number
  /** Version of the servers' current weights. Default 0. */
  readonly version?: PolicyVersion
  /** Maps a directory to its path on the server. Default: the same path. */
  readonly serverPath?: (path: string) => string
  /** Largest mean difference of a proof's log-probabilities. Default: what rounding explains. */
  readonly proofTolerance?: number
  /** Ends the wait for the first server. */
  readonly signal?: AbortSignal
  /** Gets what happens to servers, for logs. */
  readonly onEvent?: (event: EngineEvent) => void
}

/** Something that happened to a server. */
export interface EngineEvent {
  readonly kind: 'waiting' | 'connected' | 'drained' | 'back' | 'retried' | 'updated' | 'proved'
  readonly url: string
  readonly message: string
}

/** An event as a line of text that names its server. */
export const eventLine = ({ url, message }: EngineEvent): string =>
  message.includes(url) ? message : `${url}: ${message}`

type Optional = 'vision' | 'audio' | 'tokenizer' | 'model' | 'modelDirectory' | 'apiKey' | 'signal' | 'proofTolerance'

export type ResolvedRemoteOptions = Required<Omit<RemoteOptions, 'urls' | Optional>> & {
  readonly [Name in Optional]: RemoteOptions[Name] | undefined
} & { readonly addresses: readonly ServerUrl[] }

const minute = 60_000

export function resolveRemoteOptions(options: RemoteOptions): ResolvedRemoteOptions {
  const { urls, apiKey } = options
  const resolved: ResolvedRemoteOptions = {
    addresses: urls.map(parseUrl),
    vocabSize: options.vocabSize,
    vision: options.vision,
    audio: options.audio,
    tokenizer: options.tokenizer,
    model: options.model,
    modelDirectory: options.modelDirectory,
    apiKey,
    maxInFlight: options.maxInFlight ?? 256,
    requestTimeoutMs: options.requestTimeoutMs ?? 30 * minute,
    controlTimeoutMs: options.controlTimeoutMs ?? 10 * minute,
    patienceMs: options.patienceMs ?? 10 * minute,
    version: options.version ?? 0,
    serverPath: options.serverPath ?? (path => path),
    proofTolerance: options.proofTolerance,
    signal: options.signal,
    onEvent: options.onEvent ?? (() => {}),
  }
  if (urls.length === 0) throw new EngineError('urls: at least one server is needed')
  const seen = new Set(resolved.addresses.map(({ url }) => url.href))
  if (seen.size < urls.length) throw new EngineError('urls: the same server is listed twice')
  if (apiKey !== undefined && !isApiKey(apiKey))
    throw new EngineError(
      'apiKey: it is empty, or has spaces, line breaks or other characters that an HTTP header cannot hold',
    )
  for (const name of ['vocabSize', 'maxInFlight', 'requestTimeoutMs', 'controlTimeoutMs', 'patienceMs'] as const) {
    const value = resolved[name]
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RangeError(`${name} should be a positive integer, got ${value}`)
  }
  for (const name of ['requestTimeoutMs', 'controlTimeoutMs'] as const)
    if (resolved[name] >= 2 ** 31) throw new RangeError(`${name} should be below 2^31, got ${resolved[name]}`)
  const { proofTolerance } = resolved
  if (proofTolerance !== undefined && !(proofTolerance > 0))
    throw new RangeError(`proofTolerance should be above 0, got ${proofTolerance}`)
  return resolved
}

function parseUrl(text: string, index: number): ServerUrl {
  const parsed = parseServerUrl(text)
  // The text itself is not shown: it may hold a password.
  if (!parsed) throw new EngineError(`urls: expected http:// or https:// and a host in url ${index + 1}`)
  return parsed
}
