/** Images, videos and sounds of a prompt, as rewards see them. */
import { encodePng, type MediaOrigin, mediaOrigin } from '../media/index.js'
import type { MediaItem } from '../sequence/index.js'
import { SourceError } from './errors.js'
import type { RewardInput } from './input.js'

/** An image or a video. The samples of a prompt share it: a reward that changes pixels copies them first. */
export interface RewardMedia extends MediaOrigin {
  readonly kind: 'image' | 'video'
  /** Names the content. */
  readonly hash: string
  readonly width: number
  readonly height: number
  /** 1 for an image. */
  readonly frames: number
  /** Red, green and blue of each pixel, row by row, frame after frame, in the size that the model reads. */
  readonly pixels: Uint8Array
  /** Seconds between two steps of a video. */
  readonly secondsPerGrid?: number
}

/** What a row gave, in the order of the placeholders. */
export interface GivenMedia {
  readonly images: readonly unknown[]
  readonly videos: readonly unknown[]
  /** Where paths start. */
  readonly baseDirectory?: string | undefined
}

export interface PromptMedia {
  readonly images: readonly RewardMedia[]
  readonly videos: readonly RewardMedia[]
  /** The media of the sequence over the same copy of the pixels. */
  readonly media: readonly MediaItem[]
}

/** A copy of the media of a prompt, made once for all its samples: a reward cannot change what is trained on. */
export function promptMedia(items: readonly MediaItem[], given: GivenMedia): PromptMedia {
  const images: RewardMedia[] = []
  const videos: RewardMedia[] = []
  const media = items.map((item): MediaItem => {
    const { kind, hash, grid, frames: shared, secondsPerGrid } = item.pixels
    const pixels = shared.slice()
    const list = kind === 'image' ? images : videos
    const input = (kind === 'image' ? given.images : given.videos)[list.length]
    const { width, height, frames } = sizeOf(pixels, grid)
    const time = secondsPerGrid === undefined ? {} : { secondsPerGrid }
    const origin = input === undefined ? {} : mediaOrigin(kind, input, given.baseDirectory)
    list.push({ kind, hash, width, height, frames, pixels, ...time, ...origin })
    return { ...item, pixels: { ...item.pixels, frames: pixels } }
  })
  return { images, videos, media }
}

/** An image has one frame; of a video, the steps along time say how many there can be. */
function sizeOf({ length }: Uint8Array, [time, rows, columns]: MediaItem['pixels']['grid']) {
  for (let frames = 1; ; frames++) {
    const patch = Math.sqrt(length / (3 * rows * columns * frames))
    // A step has two frames; the last may have one.
    const fits = time === 1 ? true : frames === 2 * time || frames === 2 * time - 1
    if (fits && Number.isInteger(patch)) return { width: columns * patch, height: rows * patch, frames }
    if (frames > length) throw new RangeError(`${length} bytes are not whole frames of ${rows} x ${columns} patches`)
  }
}

type Held = Pick<RewardInput, 'images' | 'videos' | 'audios'>

export const holdsMedia = ({ images = [], videos = [], audios = [] }: Held): boolean =>
  images.length + videos.length + audios.length > 0

const encoded = new WeakMap<RewardMedia, Promise<readonly string[]>>()

/** Each frame as a PNG in base64, made once for all samples. */
export function pngFrames(media: RewardMedia): Promise<readonly string[]> {
  let made = encoded.get(media)
  if (!made) {
    const { width, height, pixels, frames } = media
    const size = width * height * 3
    const one = async (i: number): Promise<string> => {
      const png = await encodePng({ data: pixels.subarray(i * size, (i + 1) * size), width, height })
      return png.toString('base64')
    }
    made = Promise.all(Array.from({ length: frames }, (_, i) => one(i)))
    encoded.set(media, made)
  }
  return made
}

/** Never a score of the text alone where there is more to see. */
export function refuseMedia(inputs: readonly RewardInput[], why: string): void {
  if (inputs.some(holdsMedia)) throw new SourceError('input', why)
}
