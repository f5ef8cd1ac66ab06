/**
 * Files to pixels. Everything that programs disagree on is settled here, once: EXIF orientation is applied, colour profiles are
 * ignored, 8 bits a channel. What is transparent is composed on white where pixels are resized.
 */
import type { Metadata } from 'sharp'
import { formatProblem, imageFormat, isPlain } from './format.js'
import { MediaError } from './media-error.js'
import { loadSharp } from './sharp.js'

/** Frames of one size, one after another. */
interface DecodedFrames {
  readonly width: number
  readonly height: number
  readonly frames: number
  /** Red, green and blue, or with the opacity after them. */
  readonly channels: 3 | 4
  readonly data: Uint8Array
  /** Milliseconds that each frame of an animation is shown. */
  readonly delays?: readonly number[]
}

export interface DecodeLimits {
  /** Of an image, or of all frames of an animation together. */
  readonly maxPixels: number
  /** Frames of an animation. */
  readonly maxFrames: number
  /** For one image. */
  readonly timeoutSeconds: number
}

/** The first frame of an image file. */
export async function decodeImage(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedFrames> {
  return decode(bytes, limits, { pages: 1, autoOrient: true })
}

/** All frames of an animated GIF or WebP, or the one frame of another image. */
export async function decodeAnimation(bytes: Uint8Array, limits: DecodeLimits): Promise<DecodedFrames> {
  return decode(bytes, limits, { pages: -1, autoOrient: false })
}

interface Wanted {
  readonly pages: 1 | -1
  readonly autoOrient: boolean
}

async function decode(bytes: Uint8Array, limits: DecodeLimits, { pages, autoOrient }: Wanted): Promise<DecodedFrames> {
  if (!imageFormat(bytes)) throw formatProblem(bytes)
  const sharp = await loadSharp()
  const open = () =>
    sharp(bytes, { ignoreIcc: true, limitInputPixels: limits.maxPixels, failOn: 'error', pages, autoOrient })
  try {
    const header: Partial<Metadata> = isPlain(bytes) ? {} : await open().metadata()
    const { space, pages: frames = 1, pageHeight, width = 1, height = 1, delay } = header
    if (space === 'cmyk')
      throw new MediaError('format', 'it is a CMYK image, whose conversion to RGB is not exact; save it as RGB')
    if (width * height < 1) throw new MediaError('empty', `it has ${width} x ${height} pixels`)
    const isAnimated = pages === -1 && frames > 1
    if (isAnimated && frames > limits.maxFrames)
      throw new MediaError('limit', `it has ${frames} frames; the limit is ${limits.maxFrames}`)
    const { data, info } = await open()
      .timeout({ seconds: limits.timeoutSeconds })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true })
    const count = isAnimated ? frames : 1
    const { channels } = info
    const rows = isAnimated ? (pageHeight ?? info.height / frames) : info.height
    if ((channels !== 3 && channels !== 4) || rows * count !== info.height)
      throw new MediaError('format', `it has ${channels} channels and ${info.height} rows of ${count} frames`)
    const decoded = { width: info.width, height: rows, frames: count, channels, data } as const
    return isAnimated && delay ? { ...decoded, delays: delay } : decoded
  } catch (error) {
    throw decodeProblem(error, limits)
  }
}

function decodeProblem(error: unknown, { maxPixels, timeoutSeconds }: DecodeLimits): unknown {
  if (error instanceof MediaError || !(error instanceof Error)) return error
  const [first = 'it is damaged'] = error.message.split('\n')
  if (/exceeds pixel limit/.test(first))
    return new MediaError('limit', `it has more than ${maxPixels} pixels`, { cause: error })
  if (/timeout/i.test(first))
    return new MediaError('limit', `it was not decoded within ${timeoutSeconds} s`, { cause: error })
  return new MediaError('damaged', `it cannot be decoded: ${first.replace(/[:\s]+$/, '')}`, { cause: error })
}
