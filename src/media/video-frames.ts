/** The frames of a video in the size that the model reads, from any of its forms. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileSha256 } from '../files/index.js'
import { type Picture, resizePicture } from '../tensor/index.js'
import { bytesHash, contentHash, textHash } from './content-hash.js'
import { type DecodeLimits, decodeAnimation } from './decode.js'
import { type FfmpegOptions, probeVideo, readFrames } from './ffmpeg.js'
import { imageFormat } from './format.js'
import { type FrameRequest, gridTimes, sampledFrames } from './frames.js'
import { frameSize, gridOf } from './grid.js'
import { type RawPixels, type ResolvedImage, type ResolvedVideo, resolveImage } from './inputs.js'
import { MediaError } from './media-error.js'
import { pictureOf, rawPicture } from './picture.js'
import type { PreparedMedia } from './placeholders.js'
import type { MediaConfig } from './processor-config.js'
import { fileName, findFile, type ReadOptions, readBytes, readHead } from './read-file.js'
import type { Size } from './target-size.js'

interface VideoReading {
  readonly config: MediaConfig
  readonly limits: DecodeLimits
  readonly reading: ReadOptions
  readonly ffmpeg?: string
}

/** A video that was found: its name by content, and how to prepare it. */
interface FoundVideo {
  readonly hash: string
  readonly prepare: () => Promise<PreparedMedia>
}

/**
 * Frames that are given are read as they are. Of a file, as many frames are read as `fps` asks for (or the model's processor), by
 * the rule of the model's family.
 */
export async function videoFrames(video: ResolvedVideo, options: VideoReading): Promise<FoundVideo> {
  switch (video.kind) {
    case 'frames':
      return listedFrames(video, options)
    case 'pixels':
      return rawFrames(video, options)
    case 'file':
      return fileFrames(video, options)
  }
}

/** Puts resized frames together. The first frame decides the size of all. */
class FrameCollector {
  readonly #parts: Uint8Array[] = []
  #size: Size | undefined
  #target: Size | undefined

  constructor(
    private readonly count: number,
    private readonly config: MediaConfig,
  ) {}

  async add(picture: Picture): Promise<void> {
    const { height, width } = picture
    this.#size ??= { height, width }
    if (this.#size.height !== height || this.#size.width !== width)
      throw new MediaError(
        'shape',
        `frame ${this.#parts.length} has ${width} x ${height} pixels, and the first ${this.#size.width} x ${this.#size.height}`,
      )
    this.#target ??= frameSize(this.#size, this.count, this.config, 'video')
    this.#parts.push(await resizePicture(picture, this.#target))
  }

  finish(hash: string, { list, total, fps }: FrameTimes): PreparedMedia {
    const frames = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0))
    let at = 0
    for (const part of this.#parts) {
      frames.set(part, at)
      at += part.length
    }
    const { temporalPatchSize } = this.config
    const media = { kind: 'video', hash, frames, grid: gridOf(this.#target!, this.count, this.config) } as const
    if (fps === undefined) return media
    const rate = (list.length / total) * fps
    const times = gridTimes(list, { fps, temporalPatchSize })
    return { ...media, secondsPerGrid: temporalPatchSize / rate, times }
  }
}

interface FrameTimes {
  /** Indices of the frames that are read. */
  readonly list: readonly number[]
  /** Frames of the whole video. */
  readonly total: number
  /** Frames of the whole video in a second. */
  readonly fps: number | undefined
}

const allFrames = (total: number, fps: number | undefined): FrameTimes => ({
  list: Array.from({ length: total }, (_, i) => i),
  total,
  fps,
})

async function listedFrames(
  { frames, fps }: Extract<ResolvedVideo, { kind: 'frames' }>,
  { config, limits, reading }: VideoReading,
): Promise<FoundVideo> {
  checkCount(frames.length, limits)
  const images = frames.map(resolveImage)
  const sources: (Uint8Array | RawPixels)[] = []
  const hashes: string[] = []
  let left = reading.maxBytes
  for (const image of images)
    await naming(image, async () => {
      const source = image.kind === 'pixels' ? image.pixels : await readBytes(image, { ...reading, maxBytes: left })
      left -= source instanceof Uint8Array ? source.length : 0
      sources.push(source)
      hashes.push(await contentHash(source, []))
    })
  const hash = textHash(['video', hashes, fps ?? null, config])
  const prepare = async (): Promise<PreparedMedia> => {
    const collector = new FrameCollector(frames.length, config)
    for (const [i, source] of sources.entries())
      await naming(images[i]!, async () => collector.add(await pictureOf(source, limits)))
    return collector.finish(hash, allFrames(frames.length, fps))
  }
  return { hash, prepare }
}

async function rawFrames(
  { pixels, fps }: Extract<ResolvedVideo, { kind: 'pixels' }>,
  { config, limits }: VideoReading,
): Promise<FoundVideo> {
  const { data, width, height, frames } = pixels
  checkCount(frames, limits)
  const hash = textHash(['video', await bytesHash(data), [width, height, frames], fps ?? null, config])
  const size = data.length / frames
  const prepare = async (): Promise<PreparedMedia> => {
    const collector = new FrameCollector(frames, config)
    for (let i = 0; i < frames; i++)
      await collector.add(rawPicture({ data: data.subarray(i * size, (i + 1) * size), width, height }, limits))
    return collector.finish(hash, allFrames(frames, fps))
  }
  return { hash, prepare }
}

async function fileFrames(
  { file, fps: asked }: Extract<ResolvedVideo, { kind: 'file' }>,
  options: VideoReading,
): Promise<FoundVideo> {
  const { config, reading } = options
  const found = await findFile(file, reading)
  const wanted = asked ?? config.video.fps
  const bytes = 'bytes' in found ? found.bytes : await animationBytes(found.path, reading)
  const content = bytes ? await bytesHash(bytes) : await fileSha256((found as { path: string }).path)
  if (!bytes) await reading.onRead?.((found as { path: string }).path, content)
  const hash = textHash(['video', content, wanted, config])
  const isAnimation = bytes && imageFormat(bytes)
  const prepare = (): Promise<PreparedMedia> => {
    if (isAnimation) return animationFrames(bytes, { hash, wanted }, options)
    return 'path' in found
      ? ffmpegFrames(found.path, { hash, wanted }, options)
      : withTemporaryFile(found.bytes, path => ffmpegFrames(path, { hash, wanted }, options))
  }
  return { hash, prepare }
}

/** A GIF or WebP is read by sharp; anything else stays on the disk, for ffmpeg. Names say nothing: links may lead to others. */
async function animationBytes(path: string, reading: ReadOptions): Promise<Uint8Array | undefined> {
  return imageFormat(await readHead(path)) ? readBytes({ kind: 'path', path }, reading) : undefined
}

interface Sampling {
  readonly hash: string
  /** Frames to read of each second. */
  readonly wanted: number
}

async function animationFrames(bytes: Uint8Array, { hash, wanted }: Sampling, { config, limits }: VideoReading) {
  const decoded = await decodeAnimation(bytes, limits)
  const { width, height, channels, data, frames: total, delays } = decoded
  const seconds = (delays ?? []).reduce((sum, delay) => sum + delay, 0) / 1000
  if (total < 2) throw new MediaError('format', 'it is a still image; expected a video or its frames')
  if (!(seconds > 0)) throw new MediaError('damaged', 'its frames have no durations; give them as frames with fps')
  const fps = total / seconds
  const list = chosenFrames({ total, fps, wanted }, config)
  const collector = new FrameCollector(list.length, config)
  const size = width * height * channels
  for (const index of list)
    await collector.add({ width, height, channels, data: data.subarray(index * size, (index + 1) * size) })
  return collector.finish(hash, { list, total, fps })
}

async function ffmpegFrames(
  path: string,
  { hash, wanted }: Sampling,
  { config, limits, reading, ffmpeg }: VideoReading,
) {
  const options: FfmpegOptions = {
    timeoutSeconds: limits.timeoutSeconds,
    maxPixels: limits.maxPixels,
    signal: reading.signal,
    ...(ffmpeg === undefined ? {} : { ffmpeg }),
  }
  const { frames: total, fps } = await probeVideo(path, options)
  const list = chosenFrames({ total, fps, wanted }, config)
  checkCount(list.length, limits)
  const collector = new FrameCollector(list.length, config)
  await readFrames(path, list, frame => collector.add({ ...frame, channels: 3 }), options)
  return collector.finish(hash, { list, total, fps })
}

function chosenFrames(given: Pick<FrameRequest, 'total' | 'fps' | 'wanted'>, { video }: MediaConfig): number[] {
  const { minFrames, maxFrames, sampling } = video
  return sampledFrames({ ...given, minFrames, maxFrames }, sampling)
}

async function withTemporaryFile<T>(bytes: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'whetstone-video-'))
  try {
    const path = join(directory, 'video')
    await writeFile(path, bytes)
    return await use(path)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function checkCount(frames: number, { maxFrames }: DecodeLimits): void {
  if (frames > maxFrames) throw new MediaError('limit', `it has ${frames} frames; the limit is ${maxFrames}`)
}

async function naming<T>(image: ResolvedImage, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    throw error.of(image.kind === 'pixels' ? 'pixels' : fileName(image))
  }
}
