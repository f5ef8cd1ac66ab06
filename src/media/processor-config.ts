/**
 * How a model wants its pixels: `preprocessor_config.json` and `video_preprocessor_config.json`, or both inside
 * `processor_config.json`. A field that would change pixels and is not implemented is refused: the model would see other pixels
 * than those it was trained on.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError, isSystemError, systemProblem } from '../errors/index.js'
import type { FrameSampling } from './frames.js'
import { type ProcessorFields, readProcessorFields } from './processor-fields.js'

export type VisionFamily = 'qwen2_vl' | 'qwen2_5_vl' | 'qwen3_vl'

export interface PixelBounds {
  readonly minPixels: number
  readonly maxPixels: number
}

type Channels = readonly [red: number, green: number, blue: number]

export interface MediaConfig {
  readonly patchSize: number
  /** Patches of one token along height, and along width. */
  readonly mergeSize: number
  /** Frames of one step of the grid along time. */
  readonly temporalPatchSize: number
  /** For values from 0 to 1. */
  readonly mean: Channels
  readonly std: Channels
  readonly image: PixelBounds
  readonly video: VideoConfig
}

interface VideoConfig extends PixelBounds {
  /** Whether the bounds are on one frame, or on all frames together. */
  readonly bounds: 'frame' | 'video'
  readonly sampling: FrameSampling
  /** Frames to read of each second of a file. */
  readonly fps: number
  readonly minFrames: number
  readonly maxFrames: number
}

const names = {
  image: 'preprocessor_config.json',
  video: 'video_preprocessor_config.json',
  both: 'processor_config.json',
} as const

const imageProcessors = ['Qwen2VLImageProcessor', 'Qwen2VLImageProcessorFast', 'Qwen2VLImageProcessorPil']

/** What the processors of a model directory do. */
export async function readMediaConfig(directory: string, family: VisionFamily): Promise<MediaConfig> {
  const nested = await readObject(join(directory, names.both))
  const part = async (kind: 'image' | 'video') => {
    const inside = nested?.[`${kind}_processor`]
    const file = join(directory, isObject(inside) ? names.both : names[kind])
    const raw = isObject(inside) ? inside : await readObject(file)
    return raw && { file, fields: readProcessorFields(raw, file) }
  }
  const image = await part('image')
  if (!image) throw problem(directory, `there is no ${names.image}; a model that reads images has one`)
  const video = await part('video')
  checkType(image, image.fields.image_processor_type ?? image.fields.feature_extractor_type, imageProcessors)
  const config = sharedConfig(image.fields)
  const pixels = areas(image, { minPixels: 56 * 56, maxPixels: 28 * 28 * 1280 })
  return { ...config, image: pixels, video: videoConfig({ family, config, image, video }) }
}

interface Part {
  readonly file: string
  readonly fields: ProcessorFields
}

function sharedConfig(fields: ProcessorFields): Omit<MediaConfig, 'image' | 'video'> {
  return {
    patchSize: fields.patch_size,
    mergeSize: fields.merge_size,
    temporalPatchSize: fields.temporal_patch_size,
    mean: fields.image_mean,
    std: fields.image_std,
  }
}

interface VideoParts {
  readonly family: VisionFamily
  readonly config: Omit<MediaConfig, 'image' | 'video'>
  readonly image: Part
  readonly video: Part | undefined
}

function videoConfig({ family, config, image, video }: VideoParts): VideoConfig {
  const isQwen3 = family === 'qwen3_vl'
  if (video) {
    checkType(video, video.fields.video_processor_type, [isQwen3 ? 'Qwen3VLVideoProcessor' : 'Qwen2VLVideoProcessor'])
    for (const [name, value] of Object.entries(sharedConfig(video.fields))) {
      const ofImages = config[name as keyof typeof config]
      if (String(value) !== String(ofImages))
        throw problem(video.file, `${name} is ${value}, and that of images ${ofImages}; one tower reads both`)
    }
  }
  const side = isQwen3 ? 32 : 28
  const { fps = 2, min_frames = 4, max_frames = 768 } = video?.fields ?? {}
  return {
    // Without a file for videos transformers takes the bounds of images.
    ...areas(video ?? image, { minPixels: 128 * side ** 2, maxPixels: 768 * side ** 2 }),
    bounds: isQwen3 ? 'video' : 'frame',
    sampling: isQwen3 ? 'ends' : 'even',
    fps,
    minFrames: min_frames,
    maxFrames: max_frames,
  }
}

function checkType({ file }: Part, type: string | undefined, known: readonly string[]): void {
  if (type !== undefined && !known.includes(type))
    throw problem(file, `the processor ${type} is not implemented; expected ${known[0]}`)
}

/** `min_pixels` and `max_pixels`, or an object `size`, whose edges are areas too. */
function areas({ file, fields }: Part, byDefault: PixelBounds): PixelBounds {
  const { size, min_pixels, max_pixels } = fields
  const minPixels = min_pixels ?? size?.shortest_edge ?? size?.min_pixels ?? byDefault.minPixels
  const maxPixels = max_pixels ?? size?.longest_edge ?? size?.max_pixels ?? byDefault.maxPixels
  if (minPixels > maxPixels)
    throw problem(file, `the smallest size (${minPixels} pixels) is above the largest (${maxPixels})`)
  return { minPixels, maxPixels }
}

function problem(file: string, message: string): InputError {
  return new InputError(`${file}: ${message}`, { code: 'WHETSTONE_MODEL' })
}

async function readObject(file: string): Promise<Record<string, unknown> | undefined> {
  let raw: unknown
  try {
    raw = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined
    throw problem(file, error instanceof SyntaxError ? 'it is not JSON' : systemProblem(error, 'read'))
  }
  if (!isObject(raw)) throw problem(file, 'it is not an object of JSON')
  return raw
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
