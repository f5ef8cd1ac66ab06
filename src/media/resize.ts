/**
 * Frames in the size that a model reads, by the operator that processors of transformers use: bicubic with antialiasing on bytes.
 * It runs outside the event loop. What is transparent becomes white first, with the rounding of Pillow.
 */
import { callOperator, record, Tensor } from '../tensor/index.js'
import type { Size } from './target-size.js'

/** One image or frame: `channels` bytes a pixel, 1 (grey), 3 (RGB) or 4 (RGBA). */
export interface Picture extends Size {
  readonly channels: 1 | 3 | 4
  readonly data: Uint8Array
}

/** Pixels that are handed to libtorch at once: about a millisecond of copying. */
const pixelsAtOnce = 1 << 20

/** Red, green and blue of each pixel of the target size. */
export async function resizePicture(picture: Picture, target: Size): Promise<Uint8Array> {
  const { height, width, channels, data } = picture
  const isSame = height === target.height && width === target.width
  if (isSame && channels === 3) return data
  const pixels = await rgbTensor(data, height * width, channels)
  let resized: Tensor | undefined
  try {
    if (isSame) return await pixels.data<'uint8'>()
    resized = await program().resize.run(pixels, height, width, target.height, target.width)
    return await resized.data<'uint8'>()
  } finally {
    pixels.dispose()
    resized?.dispose()
  }
}

/** All pixels as rows of three bytes. */
async function rgbTensor(data: Uint8Array, count: number, channels: Picture['channels']): Promise<Tensor> {
  const part = (from: number, to: number): Tensor =>
    Tensor.from(data.subarray(from * channels, to * channels), { shape: [to - from, channels] })
  if (channels === 3 && count <= pixelsAtOnce) return part(0, count)
  const whole = Tensor.empty([count, 3], { dtype: 'uint8' })
  try {
    for (let from = 0; from < count; from += pixelsAtOnce) {
      const some = part(from, Math.min(from + pixelsAtOnce, count))
      try {
        await program().store[channels].run(whole, some, from)
      } finally {
        some.dispose()
      }
    }
    return whole
  } catch (error) {
    whole.dispose()
    throw error
  }
}

let programs: ReturnType<typeof recordPrograms> | undefined

/** Recorded when the first image comes. */
function program() {
  programs ??= recordPrograms()
  return programs
}

function recordPrograms() {
  return {
    resize: record(['tensor', 'number', 'number', 'number', 'number'], (pixels, height, width, newHeight, newWidth) => {
      const image = pixels.view([1, height, width, 3]).permute([0, 3, 1, 2])
      const found = callOperator('_upsample_bicubic2d_aa', image, [newHeight, newWidth], false, null, null) as Tensor
      return found.permute([0, 2, 3, 1]).contiguous()
    }),
    store: {
      1: storing(grey => grey.expand([-1, 3])),
      3: storing(rgb => rgb),
      4: storing(onWhite),
    },
  }
}

/** A program that writes some pixels of an image. */
const storing = (toRgb: (pixels: Tensor) => Tensor) =>
  record(['tensor', 'tensor', 'number'], (whole, pixels, from) => {
    whole.narrow(0, from, pixels.size(0)).copy_(toRgb(pixels))
  })

/** t = x * a + 255 * (255 - a) + 128 and ((t >> 8) + t) >> 8, for each channel x and the opacity a. */
function onWhite(rgba: Tensor): Tensor {
  const wide = rgba.cast('int32')
  const opacity = wide.narrow(1, 3, 1)
  const white = opacity.mul(-255).add(255 * 255 + 128)
  const total = wide.narrow(1, 0, 3).mul(opacity).add(white)
  const shift = (value: Tensor): Tensor => callOperator('__rshift__.Scalar', value, 8) as Tensor
  return shift(shift(total).add(total)).cast('uint8')
}
