/** Pictures in another size, on the threads that also decode them: a model's programs neither wait for them nor hold them up. */
import { fromNative } from './errors.js'
import { native } from './native.js'

/** One image or frame: `channels` bytes a pixel, 1 (grey), 3 (RGB) or 4 (RGBA). */
export interface Picture {
  readonly height: number
  readonly width: number
  readonly channels: 1 | 3 | 4
  readonly data: Uint8Array
}

/**
 * Red, green and blue of each pixel of the target size, by `_upsample_bicubic2d_aa`: the operator that processors of transformers
 * use, bicubic with antialiasing on bytes. What is transparent becomes white first, with the rounding of Pillow. The pixels are
 * read in place: they must not be written or transferred meanwhile.
 */
export async function resizePicture(
  { data, height, width, channels }: Picture,
  target: { readonly height: number; readonly width: number },
): Promise<Uint8Array> {
  const isSame = height === target.height && width === target.width
  if (isSame && channels === 3) return data
  // All of it is written, so that it need not be cleared first.
  const room = new Uint8Array(Buffer.allocUnsafeSlow(target.height * target.width * 3).buffer)
  try {
    return await native.resizePicture(data, room, height, width, target.height, target.width)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** Frees the memory of an array now; the array is empty then. The collector would leave megabytes of pixels for long. */
export function releaseBytes(array: Uint8Array): void {
  native.releaseBytes(array)
}
