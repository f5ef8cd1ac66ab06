import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { decodeAnimation, decodeImage } from '../../src/media/decode.js'
import { mediaLimits } from '../../src/media/index.js'
import { resizePicture } from '../../src/tensor/index.js'
import { mediaTables } from '../support/media-tables.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const file = (name: string): Buffer => readFileSync(join(folder, name))
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** RGB pixels in the size of the file. */
async function rgb(bytes: Uint8Array) {
  const picture = await decodeImage(bytes, mediaLimits)
  const { width, height } = picture
  return { size: [width, height], data: await resizePicture(picture, { height, width }) }
}

const refusal = (bytes: Uint8Array, limits = mediaLimits) =>
  decodeImage(bytes, limits).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('the table', () => {
  const stills = Object.entries(mediaTables.decode).filter(([name]) => !/animated|cmyk/.test(name))

  test.each(stills)('%s', async (name, { size, rgb_sha256, on_white_sha256, oriented_sha256, oriented_size }) => {
    const found = await rgb(file(name))
    expect(sha256(found.data)).toBe(oriented_sha256 ?? on_white_sha256 ?? rgb_sha256)
    expect(found.size).toEqual(oriented_size ?? size)
  })

  test.each(['animated.gif', 'animated.webp'])('%s', async name => {
    const wanted = mediaTables.decode[name]!
    const { width, height, frames, channels, data, delays } = await decodeAnimation(file(name), mediaLimits)
    expect([width, height]).toEqual(wanted.size)
    expect(frames).toBe(wanted.frames!.length)
    expect(delays).toEqual(new Array(frames).fill(wanted.duration_ms))
    const size = width * height * channels
    for (const [i, hash] of wanted.frames!.entries()) {
      const picture = { width, height, channels, data: data.subarray(i * size, (i + 1) * size) }
      expect(sha256(await resizePicture(picture, { height, width })), `frame ${i}`).toBe(hash)
    }
  })

  test('the image of an animation is its first frame', async () => {
    const { data } = await rgb(file('animated.gif'))
    expect(sha256(data)).toBe(mediaTables.decode['animated.gif']!.frames![0])
  })
})

test('a colour profile changes no pixels', async () => {
  const plain = file('rgb.png')
  const profiled = await sharp(plain).withIccProfile('p3').png().toBuffer()
  // sharp converts pixels where it writes a profile; the bytes that decode without one are what counts.
  const stored = await sharp(profiled, { ignoreIcc: true }).raw().toBuffer()
  expect(sha256((await rgb(profiled)).data)).toBe(sha256(stored))
})

test('16 bits are scaled, and grey becomes three channels', async () => {
  const grey = Uint16Array.from({ length: 12 }, (_, i) => i * 5000)
  const raw = { width: 4, height: 3, channels: 1, depth: 'ushort' } as never
  const bytes = await sharp(grey, { raw }).toColourspace('grey16').png().toBuffer()
  const { data } = await rgb(bytes)
  expect(data.length).toBe(36)
  expect([...data.subarray(0, 9)]).toEqual([0, 0, 0, 19, 19, 19, 39, 39, 39])
})

describe('refused with a reason', () => {
  const png = file('rgb.png')

  test('formats', async () => {
    expect(await refusal(file('cmyk.jpg'))).toMatchObject({
      reason: 'format',
      message: expect.stringContaining('CMYK'),
    })
    const avif = await sharp(png).avif({ effort: 0 }).toBuffer()
    expect(await refusal(avif)).toMatchObject({ reason: 'format', message: expect.stringContaining('AVIF') })
    for (const [text, word] of [
      ['BM    ', 'BMP'],
      ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'SVG'],
      ['  <?xml version="1.0"?><svg/>', 'SVG'],
      ['%PDF-1.7', 'PDF'],
      ['\0\0\0\x20ftypisom', 'give it as a video'],
      ['hello', 'expected JPEG, PNG, WebP, GIF or TIFF'],
    ])
      expect(await refusal(Buffer.from(text!, 'latin1'))).toMatchObject({
        reason: 'format',
        message: expect.stringContaining(word!),
      })
    expect(await refusal(new Uint8Array())).toMatchObject({ reason: 'empty' })
  })

  test.each(['rgb.png', '444.jpg', 'lossless.webp', 'animated.gif'])('a part of %s', async name => {
    expect(await refusal(file(name).subarray(0, 500))).toMatchObject({
      ...{ reason: 'damaged', message: expect.stringMatching(/cannot be decoded: .*[^:\s]$/) },
    })
  })

  test('too many pixels, before they are decoded', async () => {
    const limits = { ...mediaLimits, maxPixels: 800 }
    expect(await refusal(png, limits)).toMatchObject({ reason: 'limit', message: 'it has more than 800 pixels' })
    // A header that claims 2 billion pixels.
    const bomb = Buffer.from(png)
    bomb.writeUInt32BE(46_000, 16)
    bomb.writeUInt32BE(46_000, 20)
    expect(await refusal(bomb)).toMatchObject({ reason: expect.stringMatching(/limit|damaged/) })
    const none = Buffer.from(png)
    none.writeUInt32BE(0, 16)
    expect(await refusal(none)).toMatchObject({ reason: expect.stringMatching(/damaged|empty/) })
  })

  test('too many frames', async () => {
    const found = decodeAnimation(file('animated.gif'), { ...mediaLimits, maxFrames: 3 })
    await expect(found).rejects.toMatchObject({ reason: 'limit', message: 'it has 4 frames; the limit is 3' })
  })
})
