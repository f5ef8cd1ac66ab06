import { type Picture, resizePicture } from '../tensor/index.js'
import { type DecodeLimits, decodeImage } from './decode.js'
import { checkRaw, type RawPixels } from './inputs.js'
import { MediaError } from './media-error.js'
import { encodePng } from './png.js'

/** The pixels of an image file, or those that were given. */
export async function pictureOf(source: Uint8Array | RawPixels, limits: DecodeLimits): Promise<Picture> {
  return source instanceof Uint8Array ? decodeImage(source, limits) : rawPicture(source, limits)
}

/** One frame of decoded pixels. */
export function rawPicture(
  { data, width, height }: RawPixels,
  { maxPixels }: Pick<DecodeLimits, 'maxPixels'>,
): Picture {
  if (width * height > maxPixels)
    throw new MediaError('limit', `it has ${width} x ${height} pixels; the limit is ${maxPixels}`)
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.length)
  return { data: bytes, width, height, channels: (data.length / (width * height)) as Picture['channels'] }
}

/** Decoded pixels as PNG files, one for each frame: in red, green and blue, as a model would see them. */
export async function rawPngs(given: RawPixels, frames = 1): Promise<Buffer[]> {
  const { data, width, height } = checkRaw(given, frames)
  const size = data.length / frames
  return Promise.all(
    Array.from({ length: frames }, async (_, i) => {
      const one = { data: data.subarray(i * size, (i + 1) * size), width, height }
      const picture = rawPicture(one, { maxPixels: Number.POSITIVE_INFINITY })
      return encodePng({ data: await resizePicture(picture, { width, height }), width, height })
    }),
  )
}
