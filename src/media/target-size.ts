/** The size that a model reads an image or a video in: multiples of a factor, within bounds on pixels. */
import { MediaError } from './media-error.js'
import { roundHalfEven } from './round.js'

export interface Size {
  readonly height: number
  readonly width: number
}

interface SizeBounds {
  /** Both sides become multiples of it: patch size times merge size. */
  readonly factor: number
  /** Of an image, of a frame, or of all frames of a video. Pixels, not sides. */
  readonly minPixels: number
  readonly maxPixels: number
}

const longestAspect = 200

/** The target size of an image, and of a frame of a Qwen2-VL or Qwen2.5-VL video. */
export function imageSize(size: Size, bounds: SizeBounds): Size {
  return fitted({ size, bounds, frames: 1, roundedFrames: 1 })
}

/** The target size of the frames of a Qwen3-VL video, whose bounds are on the pixels of all frames together. */
export function videoSize(size: Size, { frames, temporalPatchSize, ...bounds }: SizeBounds & VideoLength): Size {
  if (frames < temporalPatchSize)
    throw new MediaError('shape', `a video needs at least ${temporalPatchSize} frames, got ${frames}`)
  const { factor } = bounds
  const scale = Math.max(1, factor / size.height, factor / size.width)
  return fitted({
    size: { height: Math.trunc(size.height * scale), width: Math.trunc(size.width * scale) },
    bounds,
    frames,
    roundedFrames: roundHalfEven(frames / temporalPatchSize) * temporalPatchSize,
  })
}

interface VideoLength {
  readonly frames: number
  readonly temporalPatchSize: number
}

interface Fit {
  readonly size: Size
  readonly bounds: SizeBounds
  readonly frames: number
  readonly roundedFrames: number
}

function fitted({ size, bounds, frames, roundedFrames }: Fit): Size {
  const { height, width } = size
  const { factor, minPixels, maxPixels } = bounds
  if (Math.min(height, width) < 1) throw new MediaError('empty', `it has ${width} x ${height} pixels`)
  const aspect = Math.max(height, width) / Math.min(height, width)
  if (aspect > longestAspect)
    throw new MediaError(
      'shape',
      `it has ${width} x ${height} pixels; one side may be at most ${longestAspect} times the other`,
    )
  const rounded = both(size, side => roundHalfEven(side / factor) * factor)
  const pixels = roundedFrames * rounded.height * rounded.width
  if (pixels > maxPixels) {
    const shrink = Math.sqrt((frames * height * width) / maxPixels)
    return both(size, side => Math.max(factor, Math.floor(side / shrink / factor) * factor))
  }
  if (pixels < minPixels) {
    const grow = Math.sqrt(minPixels / (frames * height * width))
    return both(size, side => Math.ceil((side * grow) / factor) * factor)
  }
  return rounded
}

function both({ height, width }: Size, change: (side: number) => number): Size {
  return { height: change(height), width: change(width) }
}
