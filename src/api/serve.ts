/** A model behind OpenAI's API. */
import { basename, resolve } from 'node:path'
import type { Devices } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import type { MediaLimits, UrlOptions } from '../media/index.js'
import { LocalModel, MultimodalProcessor } from '../model/index.js'
import { type Report, silentReport } from '../progress/index.js'
import {
  type Generator,
  generationConfigLines,
  LocalEngine,
  type OpenOptions,
  readGenerationConfig,
} from '../rollout/index.js'
import { type ControlOptions, ModelServer, type ServeOptions as ServerOptions } from '../serve/index.js'
import { parseHubName, placedName } from '../source/index.js'
import type { Tokenizer } from '../text/index.js'
import { type MediaSettings, processorOptions } from '../train/index.js'
import { checkNames, named } from './known-options.js'
import { locateGiven } from './locate-given.js'
import { openRankedEngine } from './open-ranks.js'

export interface ServeOptions
  extends Omit<ServerOptions, 'engine' | 'tokenizer' | 'name' | 'control' | 'defaults' | 'media'>,
    Omit<OpenOptions, 'onProgress'> {
  /** A model directory, an id of the Hub, or a model of the program, which is not disposed. */
  readonly model: string | LocalModel<'language'>
  /** Ranks that compute together: all GPUs, a number of them (or of processes that share a CPU), or a list. Default: this process. */
  readonly devices?: Devices | undefined
  /** For a model of the program: without one, prompts are token ids. */
  readonly tokenizer?: Tokenizer
  /** The model's name in requests. Default: the directory's, or the id. */
  readonly servedModelName?: string
  /** Clients may pause it and have it read other weights; needs `apiKey`, and a model directory. */
  readonly control?: Omit<ControlOptions, 'weights'>
  /** Of a vision-language model: where images and videos may come from, and how large they may be. */
  readonly media?: ServedMedia
  /** For a model of the program that reads images: without one, requests with images are refused. */
  readonly processor?: MultimodalProcessor
  readonly report?: Report
}

/** Bounds on pixels and the program for video files are those of a training's `media`. */
export interface ServedMedia extends Omit<MediaSettings, 'urls'> {
  /** Requests may name files in this directory by `file:` URLs. Default: no files. */
  readonly root?: string
  /** Requests may name images of other servers. Default: they may not. */
  readonly urls?: UrlOptions
  /** Most images and videos of a request. Default 16. */
  readonly maxItems?: number
  /** Of a file, an image and a video. Default: 64 MiB, 64 million pixels, 4096 frames. */
  readonly limits?: Partial<MediaLimits>
}

/** Files of clients; those of a data set may be larger. */
const servedLimits: Partial<MediaLimits> = { maxBytes: 64 * 2 ** 20 }

export interface Serving {
  readonly name: string
  readonly port: number
  /** Of OpenAI's API. */
  readonly url: string
  /** Resolves when it can no longer answer, because a rank of `devices` is lost. */
  readonly failed: Promise<Error>
  /** Requests in flight may take `graceMs` more. */
  close(options?: { graceMs: number }): Promise<void>
}

const optionNames = named(
  ...(['model', 'adapter', 'device', 'devices', 'tokenizer', 'processor', 'chatTemplate', 'servedModelName'] as const),
  ...(['cacheBytes', 'cacheShare', 'memory', 'maxSequences', 'maxLength', 'tokenBudget', 'adapters', 'media'] as const),
  ...(['host', 'port', 'apiKey', 'allowHosts', 'allowOrigins', 'maxBodyBytes', 'maxRequests', 'maxSamples'] as const),
  ...(['maxRequestBytes', 'maxTotalBytes', 'logprobsMode', 'bodyRate', 'record', 'stallMs', 'control'] as const),
  ...(['signal', 'report'] as const),
)

/**
 * Serves until it is closed.
 *
 * @example
 * const server = await serve({ model: 'model', port: 0 })
 * console.log(server.url)
 * await server.close()
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  checkNames('serve', options, optionNames, ['model'])
  const { model: named, tokenizer: given, servedModelName, control, report = silentReport, ...others } = options
  const { media: mediaOptions = {}, processor, ...rest } = others
  const { adapter: namedAdapter, devices, device, signal, chatTemplate, adapters, ...server } = rest
  const { maxSequences, maxLength, cacheBytes, cacheShare, memory, tokenBudget, ...http } = server
  const engineOptions = { maxSequences, maxLength, cacheBytes, cacheShare, memory, tokenBudget }
  const engineGiven = Object.fromEntries(Object.entries(engineOptions).filter(([, value]) => value !== undefined))
  const { model, adapter } = await locateGiven({ model: named, adapter: namedAdapter }, { report, signal })
  const configured = typeof model === 'string' ? await readGenerationConfig(model) : undefined
  const loading = report.transfer('loading')
  const opened = await open().finally(() => loading.end())
  for (const line of configured ? generationConfigLines(configured) : []) report.line(line)
  try {
    const media = processor ?? (await processorOf(opened))
    const name = servedModelName ?? (typeof named === 'string' ? nameOf(named) : 'model')
    const started = await ModelServer.start({
      ...http,
      engine: opened.engine,
      tokenizer: opened.tokenizer,
      name,
      ...(configured ? { defaults: configured.defaults } : {}),
      ...(media ? { media: { processor: media, ...placesOf(mediaOptions) } } : {}),
      ...(control && opened.weights ? { control: { ...control, weights: opened.weights } } : {}),
    })
    const host = http.host ?? '127.0.0.1'
    return {
      name,
      port: started.port,
      url: `http://${host.includes(':') ? `[${host}]` : host}:${started.port}/v1`,
      failed: new Promise(resolve => opened.onFailure?.(resolve)),
      close: async (how = { graceMs: 0 }) => {
        await started.close(how)
        await opened.close()
      },
    }
  } catch (error) {
    await opened.close()
    throw error
  }

  /** Without the files of a processor the model still answers text. */
  async function processorOf({ engine, tokenizer }: { engine: Generator; tokenizer: Tokenizer | undefined }) {
    if (typeof model !== 'string' || !engine.capabilities.media) return undefined
    const { urls, limits, root: _, maxItems: __, ...settings } = mediaOptions
    const encode = async (text: string) => tokenizer?.encode(text, { addSpecialTokens: false }) ?? []
    try {
      return await MultimodalProcessor.load(model, {
        encode,
        ...processorOptions(settings),
        limits: { ...servedLimits, ...limits },
        ...(urls ? { urls } : {}),
      })
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      report.warn(`${error.message}. Requests with images or videos are refused.`)
      return undefined
    }
  }

  async function open() {
    if (model instanceof LocalModel) {
      const engine = new LocalEngine(model, { ...engineGiven, ...(given ? { tokenizer: given } : {}) })
      return { engine, tokenizer: given, weights: undefined, close: () => engine.close(), onFailure: undefined }
    }
    if (control && devices !== undefined)
      throw new InputError('devices: weights of a server with control are of one process; leave devices out')
    return openRankedEngine(model, {
      devices,
      ...engineGiven,
      ...(adapter === undefined ? {} : { adapter }),
      ...(device === undefined ? {} : { device }),
      ...(signal ? { signal } : {}),
      ...(chatTemplate === undefined ? {} : { chatTemplate }),
      ...(adapters === undefined ? {} : { adapters }),
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
    })
  }
}

const placesOf = ({ root, maxItems }: ServedMedia) => ({
  ...(root === undefined ? {} : { root }),
  ...(maxItems === undefined ? {} : { maxItems }),
})

/** The id of a model of the Hub, or the name of a directory. */
function nameOf(model: string): string {
  const placed = placedName(model, 'model', process.cwd())
  return placed.startsWith('/') ? basename(resolve(model)) : parseHubName(placed, 'model')!.id
}
