/** The forms in which images and videos are given. */
import { imageFormat } from './format.js'
import { MediaError } from './media-error.js'

/** Pixels that are decoded already: `height` rows of `width` pixels with 1 (grey), 3 (RGB) or 4 (RGBA) bytes each. */
export interface RawPixels {
  readonly data: Uint8Array | Uint8ClampedArray
  readonly width: number
  readonly height: number
}

/**
 * An image: a path, a `file:`, `data:` or `http(s):` URL, the bytes of a file, decoded pixels, or an object that has one of
 * these, as messages and data sets write it.
 */
export type ImageInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | RawPixels
  | { readonly image: ImageInput }
  | { readonly image_url: string | { readonly url: string } }
  | { readonly url: string }
  | { readonly bytes: Uint8Array | ArrayBuffer; readonly path?: string | null }
  | { readonly path: string; readonly bytes?: null }

/** Frames of one size, `frames` after each other, as {@link RawPixels}. */
export interface RawVideo extends RawPixels {
  readonly frames: number
}

/**
 * A video: its frames, or a file (an animated GIF or WebP, or anything that ffmpeg reads). `fps` of frames says how many of them
 * a second has; `fps` of a file says how many to read.
 */
export type VideoInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | readonly ImageInput[]
  | (RawVideo & { readonly fps?: number })
  | { readonly frames: readonly ImageInput[]; readonly fps?: number }
  | { readonly video: VideoInput; readonly fps?: number }
  | { readonly video_url: string | { readonly url: string }; readonly fps?: number }
  | { readonly bytes: Uint8Array | ArrayBuffer; readonly path?: string | null; readonly fps?: number }
  | { readonly path: string; readonly bytes?: null; readonly fps?: number }

/** Where a file is, or what it holds. */
export type FileInput =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly name?: string }

export type ResolvedImage = FileInput | { readonly kind: 'pixels'; readonly pixels: RawPixels }

export type ResolvedVideo =
  | { readonly kind: 'file'; readonly file: FileInput; readonly fps: number | undefined }
  | { readonly kind: 'frames'; readonly frames: readonly ImageInput[]; readonly fps: number | undefined }
  | { readonly kind: 'pixels'; readonly pixels: RawVideo; readonly fps: number | undefined }

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)

/** What an image is given by. The types are checked: rows of a data set may hold anything. */
export function resolveImage(input: unknown): ResolvedImage {
  const file = fileOf(input)
  if (file) return file
  if (!isFields(input)) throw unknownForm(input, 'an image')
  if (isRaw(input)) return { kind: 'pixels', pixels: checkRaw(input, 1) }
  const inner = input.image ?? urlOf(input.image_url) ?? input.url ?? input.bytes ?? input.path
  if (inner === undefined || inner === null) throw unknownForm(input, 'an image')
  return named(resolveImage(inner), input)
}

export function resolveVideo(input: unknown, asked?: number): ResolvedVideo {
  const file = fileOf(input)
  if (file) return { kind: 'file', file, fps: asked }
  if (Array.isArray(input)) return { kind: 'frames', frames: checkFrames(input), fps: asked }
  if (!isFields(input)) throw unknownForm(input, 'a video')
  const fps = input.fps === undefined || input.fps === null ? asked : checkFps(input.fps)
  if (isRaw(input)) {
    const { frames } = input
    if (typeof frames !== 'number' || !Number.isInteger(frames) || frames < 1)
      throw new MediaError('form', `frames: expected how many frames the pixels are, got ${shown(frames)}`)
    return { kind: 'pixels', pixels: { ...checkRaw(input, frames), frames }, fps }
  }
  if (Array.isArray(input.frames)) return { kind: 'frames', frames: checkFrames(input.frames), fps }
  const inner = input.video ?? urlOf(input.video_url) ?? input.url ?? input.bytes ?? input.path
  if (inner === undefined || inner === null) throw unknownForm(input, 'a video')
  const found = resolveVideo(inner, fps)
  return found.kind === 'file' ? { ...found, file: named(found.file, input) } : found
}

/** Bytes beside a path are known by it in messages. */
function named<T extends ResolvedImage>(found: T, { path }: Fields): T {
  return found.kind === 'bytes' && typeof path === 'string' && path !== '' ? { ...found, name: path } : found
}

/** The images of a sample: null, one image, or a list of them, which may be nested. */
export function imageList(value: unknown): ImageInput[] {
  if (value === null || value === undefined) return []
  return Array.isArray(value) ? value.flatMap(imageList) : [value as ImageInput]
}

/** The videos of a sample: null, one video, or a list. A list of still images is one video. */
export function videoList(value: unknown): VideoInput[] {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) return [value as VideoInput]
  if (value.length > 0 && value.every(isStill)) return [value as ImageInput[]]
  return value.flatMap(one => (Array.isArray(one) ? videoList(one) : [one as VideoInput]))
}

/** Whether it can only be one frame. */
function isStill(value: unknown): boolean {
  if (typeof value === 'string' || value instanceof URL)
    return /^data:image\/(png|jpe?g|tiff)[;,]|^(?!data:)[^?#]*\.(png|jpe?g|tiff?)$/i.test(String(value))
  const bytes = bytesOf(value)
  if (bytes) return ['jpeg', 'png', 'tiff'].includes(imageFormat(bytes) ?? '')
  if (!isFields(value)) return false
  if (isRaw(value)) return !('frames' in value)
  return 'image' in value || 'image_url' in value || isStill(value.bytes ?? value.path)
}

function fileOf(input: unknown): FileInput | undefined {
  const bytes = bytesOf(input)
  if (bytes) return { kind: 'bytes', bytes }
  if (typeof input !== 'string' && !(input instanceof URL)) return undefined
  const text = String(input)
  if (text === '') throw new MediaError('form', 'expected a path or a URL, got an empty text')
  // A drive letter is one letter long.
  if (!/^[a-z][a-z\d+.-]+:/i.test(text)) return { kind: 'path', path: text }
  if (!URL.canParse(text)) throw new MediaError('form', 'expected a path or a URL')
  return { kind: 'url', url: new URL(text) }
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (value instanceof Uint8Array) return value
  return undefined
}

const urlOf = (value: unknown): unknown => (isFields(value) ? value.url : value)

const isRaw = (value: Fields): value is Fields & RawPixels =>
  value.data instanceof Uint8Array || value.data instanceof Uint8ClampedArray

/** Pixels whose count fits their sizes. */
export function checkRaw({ data, width, height }: RawPixels, frames: number): RawPixels {
  for (const side of [width, height])
    if (!Number.isInteger(side) || side < 1)
      throw new MediaError('empty', `expected pixels with a width and a height, got ${shown(width)} x ${shown(height)}`)
  const channels = data.length / (width * height * frames)
  if (channels !== 1 && channels !== 3 && channels !== 4)
    throw new MediaError(
      'form',
      `expected 1, 3 or 4 bytes for each of ${frames * width * height} pixels, got ${data.length} bytes`,
    )
  return { data, width, height }
}

function checkFrames(frames: readonly unknown[]): readonly ImageInput[] {
  if (frames.length === 0) throw new MediaError('empty', 'a video has no frames')
  return frames as readonly ImageInput[]
}

function checkFps(fps: unknown): number {
  if (typeof fps !== 'number' || !(fps > 0) || !Number.isFinite(fps))
    throw new MediaError('form', `fps: expected a number above 0, got ${shown(fps)}`)
  return fps
}

function unknownForm(input: unknown, what: string): MediaError {
  return new MediaError(
    'form',
    `expected ${what}: a path, a file:, data: or http(s): URL, bytes, or decoded pixels; got ${shown(input)}`,
  )
}

function shown(value: unknown): string {
  if (isFields(value)) return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'no fields'}`
  if (Array.isArray(value)) return 'a list'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
