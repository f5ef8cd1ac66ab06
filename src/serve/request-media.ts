/**
 * Images and videos of requests: how many, where they may come from, and their pixels. Clients may name anything: only what they
 * send themselves (`data:` URLs) is read, unless the server was started with a directory for files or with URLs allowed.
 */
import type { ImageInput, VideoInput } from '../media/index.js'
import type { MultimodalProcessor } from '../model/index.js'
import type { MediaItem } from '../sequence/index.js'
import { badRequest } from './errors.js'
import type { Exchange } from './exchange.js'
import type { JsonObject } from './request-shape.js'

export interface MediaOptions {
  /** Of the served model. Its limits hold for files, and its `urls` say whether servers are asked for images. */
  readonly processor: MultimodalProcessor
  /** Clients may name files in this directory by `file:` URLs. Default: no files. */
  readonly root?: string
  /** Most images and videos of a request. Default 16. */
  readonly maxItems?: number
}

/** Token ids with all placeholders, and the media at their places. */
export interface EncodedPrompt {
  readonly ids: Int32Array
  readonly media: readonly MediaItem[]
}

/** Parts of a request, in the order of their placeholders. */
export interface GivenMedia {
  readonly images: readonly unknown[]
  readonly videos: readonly unknown[]
  /** Frames of each second, for videos that do not say it themselves. */
  readonly fps?: number | undefined
  /** The field of the body, for messages. */
  readonly param: string
}

/** Requests whose images are decoded at the same time: each may hold the pixels of all its items. */
const atOnce = 2
const usualMost = 16

export class RequestMedia {
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(private readonly options: MediaOptions) {}

  /** Decodes outside the event loop. A problem with an image is an error of the client. */
  async read(ids: Int32Array, given: GivenMedia, exchange: Exchange): Promise<EncodedPrompt> {
    const { processor, root, maxItems = usualMost } = this.options
    const { param } = given
    const count = given.images.length + given.videos.length
    if (count === 0) return { ids, media: [] }
    if (count > maxItems)
      throw badRequest(`a request may have ${maxItems} images and videos, this one has ${count}.`, param)
    const images = given.images.map((part, i) => this.#image(part, `image ${i + 1}`, param))
    const videos = given.videos.map((part, i) => this.#video(part, given, `video ${i + 1}`))
    const { signal } = exchange
    const place = { signal, ...(root === undefined ? {} : { root, baseDirectory: root }) }
    return this.#inTurn(async () => {
      signal.throwIfAborted()
      const found = await processor.process(ids, { images, videos }, place)
      if (found.kind === 'failed') throw badRequest(found.message, param)
      // Before the next request is decoded.
      exchange.reserve([...found.images, ...found.videos].reduce((sum, { frames }) => sum + frames.length, 0))
      return { ids: found.ids, media: found.media }
    })
  }

  #image(part: unknown, name: string, param: string): ImageInput {
    return this.#source(urlOf(part, ['image_url', 'image', 'url']), name, param)
  }

  #video(part: unknown, { fps: asked, param }: GivenMedia, name: string): VideoInput {
    const { fps = asked } = part as { fps?: number }
    const rate = fps === undefined || fps === null ? {} : { fps }
    const given = urlOf(part, ['video_url', 'video', 'frames', 'url'])
    if (Array.isArray(given))
      return { frames: given.map((frame, i) => this.#source(frame, `${name}, frame ${i + 1}`, param)), ...rate }
    const frames = frameUrls(given)
    if (frames) return { frames: frames.map((bytes, i) => ({ bytes, path: `${name}, frame ${i + 1}` })), ...rate }
    return { video: this.#source(given, name, param) as VideoInput, ...rate }
  }

  /** Bytes of a `data:` URL, or a URL that the server may read. */
  #source(url: unknown, name: string, param: string): string | { bytes: Uint8Array; path: string } {
    const refuse = (why: string): never => {
      throw badRequest(`${name}: ${why}.`, param)
    }
    if (typeof url !== 'string') return refuse('expected a URL as a string')
    const [scheme] = /^[a-z][a-z\d+.-]*:/i.exec(url.slice(0, 32)) ?? []
    switch (scheme?.toLowerCase()) {
      case 'data:': {
        const comma = url.indexOf(',')
        if (comma < 0) return refuse('a data: URL has a comma before its bytes')
        if (!/;\s*base64\s*$/i.test(url.slice(0, Math.min(comma, 256))))
          return refuse('expected base64 in a data: URL, as in data:image/png;base64,...')
        const bytes = base64(url, comma + 1)
        // Decoding ends at the first sign that is no base64.
        if (bytes.length < Math.floor(((url.length - comma - 1) * 3) / 4) - 2 && !isBase64(url, comma + 1))
          return refuse('the base64 of its data: URL is damaged')
        return { bytes, path: name }
      }
      case 'file:':
        if (this.options.root === undefined)
          return refuse('this server reads no files; it was started without --media-root')
        return url
      case 'http:':
      case 'https:':
        if (this.options.processor.media.reads !== 'urls')
          return refuse('this server fetches no URLs; send the image as data:image/png;base64,...')
        return url
      default:
        return refuse('expected a URL such as data:image/png;base64,...')
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < atOnce) this.#running++
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}

/** What a part names, by the first of the fields that it has: `{"image_url": {"url": ...}}`, or the URL itself. */
function urlOf(part: unknown, fields: readonly string[]): unknown {
  const known = part as JsonObject
  const given = fields.map(field => known[field]).find(value => value !== undefined && value !== null)
  return typeof given === 'object' && !Array.isArray(given) ? (given as JsonObject).url : given
}

/** Frames as vLLM takes them: `data:video/jpeg;base64,FRAME,FRAME`, each the file of an image. */
function frameUrls(url: unknown): Uint8Array[] | undefined {
  if (typeof url !== 'string' || !/^data:video\/jpeg;base64,/i.test(url.slice(0, 32))) return undefined
  const [, ...frames] = url.split(',')
  return frames.map(frame => base64(frame, 0))
}

/** Line breaks are allowed. Only asked where bytes are missing. */
const isBase64 = (url: string, from: number): boolean => /^[\w+/\s-]*={0,2}\s*$/.test(url.slice(from))

/** A `URL` object of a large image would block the event loop for a tenth of a second. */
const base64 = (text: string, from: number): Uint8Array => Buffer.from(from === 0 ? text : text.slice(from), 'base64')
