import type { Picture } from '../tensor/index.js'
import { type DecodeLimits, decodeImage } from './decode.js'
import type { RawPixels } from './inputs.js'
import { MediaError } from './media-error.js'

/** The pixels of an image file, or those that were given. */
export async function pictureOf(source: Uint8Array | RawPixels, limits: DecodeLimits): Promise<Picture> {
  return source instanceof Uint8Array ? decodeImage(source, limits) : rawPicture(source, limits)
}

/** One frame of decoded pixels. */
export function rawPicture({ data, width, height }: RawPixels, { maxPixels }: DecodeLimits): Picture {
  if (width * height > maxPixels)
    throw new MediaError('limit', `it has ${width} x ${height} pixels; at most ${maxPixels} are read`)
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.length)
  return { data: bytes, width, height, channels: (data.length / (width * height)) as Picture['channels'] }
}
