/** Images and videos as a model reads them: found, decoded, resized, named by their content, and kept for the next time. */
import { availableParallelism } from 'node:os'
import { releaseBytes, resizePicture } from '../tensor/index.js'
import { ByteCache } from './byte-cache.js'
import { contentHash } from './content-hash.js'
import type { DecodeLimits } from './decode.js'
import type { UrlOptions } from './fetch-media.js'
import { frameSize, gridOf } from './grid.js'
import { type ImageInput, imageList, resolveImage, resolveVideo, type VideoInput, videoList } from './inputs.js'
import { MediaError, type MediaReason } from './media-error.js'
import type { MediaFiles } from './media-files.js'
import { pictureOf } from './picture.js'
import type { PreparedMedia } from './placeholders.js'
import type { MediaConfig, PixelBounds } from './processor-config.js'
import { fileName, type ReadOptions, readBytes } from './read-file.js'
import { Turns } from './turns.js'
import { videoFrames } from './video-frames.js'

export interface MediaLimits extends DecodeLimits {
  /** Of a file. */
  readonly maxBytes: number
}

/** Generous for photographs and screenshots, and small against the memory of a machine. */
export const mediaLimits: MediaLimits = {
  maxBytes: 256 * 2 ** 20,
  maxPixels: 64_000_000,
  maxFrames: 4096,
  timeoutSeconds: 60,
}

export interface MediaProcessorOptions {
  /** What the processor files of the model say: `readMediaConfig`. */
  readonly config: MediaConfig
  /** Bounds on the pixels of an image. Default: those of the model, whose largest image may have 16,384 tokens. */
  readonly imagePixels?: Partial<PixelBounds>
  readonly videoPixels?: Partial<PixelBounds>
  readonly limits?: Partial<MediaLimits>
  /** Relative paths start here. Default: the working directory. */
  readonly baseDirectory?: string
  /** Files outside are refused. Default: none are. */
  readonly root?: string
  /** Default: URLs of servers are refused. */
  readonly urls?: UrlOptions
  /** The program that reads video files. Default: `ffmpeg` on the PATH. */
  readonly ffmpeg?: string
  /** Bytes of pixels that are kept for the next time. Default: 512 MiB. */
  readonly cacheBytes?: number
  /** Notes the files that are read. What it throws ends the work. */
  readonly files?: Pick<MediaFiles, 'read'>
}

/** Media of one sample, in any of the forms: null, one, or lists. */
export interface SampleMedia {
  readonly images?: unknown
  readonly videos?: unknown
}

/** Where relative paths start, for media of one data file. */
export type MediaPlace = Pick<MediaProcessorOptions, 'baseDirectory' | 'root'> & {
  readonly signal?: AbortSignal | undefined
}

export type MediaOutcome =
  | { readonly kind: 'media'; readonly images: readonly PreparedMedia[]; readonly videos: readonly PreparedMedia[] }
  /** One of them cannot be used: a bad row, not a crash. */
  | { readonly kind: 'failed'; readonly reason: MediaReason; readonly message: string; readonly error: MediaError }

export class MediaProcessor {
  readonly config: MediaConfig
  readonly #options: MediaProcessorOptions
  readonly #limits: MediaLimits
  readonly #onRead: ReadOptions['onRead']
  readonly #cache: ByteCache<PreparedMedia>
  /** What is in work, so that the samples of a prompt wait for one result. */
  readonly #working = new Map<string, Promise<PreparedMedia>>()
  readonly #turns = new Turns(Math.max(2, availableParallelism()))

  constructor(options: MediaProcessorOptions) {
    const { config, imagePixels, videoPixels } = options
    this.#options = options
    this.config = {
      ...config,
      image: checkBounds({ ...config.image, ...imagePixels }),
      video: checkBounds({ ...config.video, ...videoPixels }),
    }
    this.#limits = { ...mediaLimits, ...options.limits }
    const { files } = options
    this.#onRead = files && ((name, sha256) => files.read(name, sha256))
    this.#cache = new ByteCache(options.cacheBytes ?? 512 * 2 ** 20, ({ frames }) => frames.byteLength)
  }

  /** Whether URLs of other servers are read. */
  get reads(): 'files' | 'urls' {
    return this.#options.urls ? 'urls' : 'files'
  }

  /** All media of a sample. What cannot be used is an outcome with the reason; only an abort is thrown. */
  async prepare({ images, videos }: SampleMedia, place: MediaPlace = {}): Promise<MediaOutcome> {
    try {
      const found = await Promise.all([
        Promise.all(imageList(images).map(image => this.image(image, place))),
        Promise.all(videoList(videos).map(video => this.video(video, place))),
      ])
      return { kind: 'media', images: found[0], videos: found[1] }
    } catch (error) {
      if (!(error instanceof MediaError)) throw error
      return { kind: 'failed', reason: error.reason, message: error.message, error }
    }
  }

  /** An image in the size that the model reads. A {@link MediaError} says why it cannot be used. */
  async image(input: ImageInput, place: MediaPlace = {}): Promise<PreparedMedia> {
    const image = resolveImage(input)
    const name = image.kind === 'pixels' ? 'pixels' : fileName(image)
    return naming(name, async () => {
      const source = image.kind === 'pixels' ? image.pixels : await readBytes(image, this.#reading(place))
      const hash = await contentHash(source, ['image', this.config])
      return this.#once(hash, async () => {
        const picture = await pictureOf(source, this.#limits)
        const target = frameSize(picture, 1, this.config, 'image')
        const frames = await resizePicture(picture, target)
        // Pixels that were given belong to the caller.
        if (source instanceof Uint8Array && frames !== picture.data) releaseBytes(picture.data)
        return { kind: 'image', hash, frames, grid: gridOf(target, 1, this.config) }
      })
    })
  }

  /** A video in the size that the model reads. */
  async video(input: VideoInput, place: MediaPlace = {}): Promise<PreparedMedia> {
    const video = resolveVideo(input)
    const name = video.kind === 'file' ? fileName(video.file) : 'frames of a video'
    return naming(name, async () => {
      const source = await videoFrames(video, {
        config: this.config,
        limits: this.#limits,
        reading: this.#reading(place),
        ...(this.#options.ffmpeg === undefined ? {} : { ffmpeg: this.#options.ffmpeg }),
      })
      return this.#once(source.hash, source.prepare)
    })
  }

  #reading({ baseDirectory, root, signal }: MediaPlace): ReadOptions {
    const base = baseDirectory ?? this.#options.baseDirectory
    const inside = root ?? this.#options.root
    return {
      ...(base === undefined ? {} : { baseDirectory: base }),
      ...(inside === undefined ? {} : { root: inside }),
      urls: this.#options.urls,
      maxBytes: this.#limits.maxBytes,
      signal,
      onRead: this.#onRead,
    }
  }

  async #once(hash: string, make: () => Promise<PreparedMedia>): Promise<PreparedMedia> {
    const known = this.#cache.get(hash) ?? this.#working.get(hash)
    if (known) return known
    const made = this.#turns.run(make)
    this.#working.set(hash, made)
    try {
      const media = await made
      this.#cache.set(hash, media)
      return media
    } finally {
      this.#working.delete(hash)
    }
  }
}

function checkBounds<T extends PixelBounds>(bounds: T): T {
  const { minPixels, maxPixels } = bounds
  if (!(minPixels > 0 && minPixels <= maxPixels))
    throw new RangeError(`minPixels is ${minPixels} and maxPixels is ${maxPixels}; expected 0 < minPixels <= maxPixels`)
  return bounds
}

async function naming<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof MediaError ? error.of(name) : error
  }
}
