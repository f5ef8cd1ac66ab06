/** Pixels of files against those of transformers' processors: equal bytes, and equal values after normalising and cutting. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  type MediaConfig,
  MediaProcessor,
  readMediaConfig,
  runLengths,
  type VisionFamily,
} from '../../src/media/index.js'
import type { MediaPixels } from '../../src/sequence/index.js'
import { memoryUse, resizePicture, SafetensorsFile } from '../../src/tensor/index.js'
import { mediaTables, positionRules } from '../support/media-tables.js'

interface Golden {
  readonly kind: 'image' | 'video'
  readonly files: readonly string[]
  readonly fps?: number
  readonly seconds_per_grid?: number
  readonly grid_thw: readonly number[]
  readonly resized_size: readonly number[]
  readonly tokens: number
  readonly resized_sha256: string
  readonly pixel_values_sha256: string
}

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const golden = JSON.parse(readFileSync(join(folder, 'pixels.json'), 'utf8')) as Record<
  VisionFamily,
  Record<string, Golden>
>
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Rows of patches, as a processor cuts them, in float32. */
function patchRows({ frames, grid }: MediaPixels, { patchSize, mergeSize, temporalPatchSize, mean, std }: MediaConfig) {
  const [steps, high, wide] = grid
  const [height, width] = [high * patchSize, wide * patchSize]
  const count = frames.length / (height * width * 3)
  const by = (values: readonly number[]) => values.map(value => Math.fround(Math.fround(value) * 255))
  const [shift, scale] = [by(mean), by(std)]
  const rows = new Float32Array(steps * high * wide * 3 * temporalPatchSize * patchSize ** 2)
  let at = 0
  const range = (n: number) => Array.from({ length: n }, (_, i) => i)
  for (const t of range(steps))
    for (const blockRow of range(high / mergeSize))
      for (const blockColumn of range(wide / mergeSize))
        for (const r of range(mergeSize))
          for (const c of range(mergeSize))
            for (const channel of range(3))
              for (const f of range(temporalPatchSize))
                for (const y of range(patchSize))
                  for (const x of range(patchSize)) {
                    const frame = Math.min(t * temporalPatchSize + f, count - 1)
                    const row = (blockRow * mergeSize + r) * patchSize + y
                    const column = (blockColumn * mergeSize + c) * patchSize + x
                    const byte = frames[((frame * height + row) * width + column) * 3 + channel]!
                    rows[at++] = Math.fround(byte - shift[channel]!) / scale[channel]!
                  }
  return rows
}

describe.each(Object.keys(golden) as VisionFamily[])('%s', family => {
  const directory = join(folder, family)

  test.each(Object.entries(golden[family]))('%s', async (_, wanted) => {
    const config = await readMediaConfig(directory, family)
    const media = new MediaProcessor({ config, baseDirectory: directory })
    const { kind, files, fps } = wanted
    const found =
      kind === 'image'
        ? await media.image(files[0]!)
        : await media.video({ frames: files, ...(fps === undefined ? {} : { fps }) })
    expect(found.grid).toEqual(wanted.grid_thw)
    const [height, width] = wanted.resized_size
    expect(found.frames.length).toBe(files.length * height! * width! * 3)
    expect(sha256(found.frames)).toBe(wanted.resized_sha256)
    expect(found.secondsPerGrid).toBe(wanted.seconds_per_grid)
    const tokens = runLengths(found, positionRules(family)).reduce((sum, count) => sum + count, 0)
    expect(tokens).toBe(wanted.tokens)
    const rows = patchRows(found, config)
    expect(sha256(new Uint8Array(rows.buffer))).toBe(wanted.pixel_values_sha256)
  })
})

test('resized bytes are those of the operator', async () => {
  const before = memoryUse().liveTensors
  const file = await SafetensorsFile.open(join(folder, 'resize.safetensors'))
  for (const [name, { input, output, sha256: wanted }] of Object.entries(mediaTables.resize)) {
    const tensor = await file.read(`${name}.input`)
    const data = await tensor.data<'uint8'>()
    tensor.dispose()
    const picture = { height: input[0], width: input[1], channels: 3, data } as const
    expect(sha256(await resizePicture(picture, { height: output[0], width: output[1] })), name).toBe(wanted)
  }
  await file.close()
  expect(memoryUse().liveTensors).toBe(before)
})

test('transparent pixels become white with the rounding of Pillow, also in large images', async () => {
  // More than one part, so that the parts have to meet.
  const [height, width] = [1050, 1000]
  const data = new Uint8Array(height * width * 4)
  for (let i = 0; i < data.length; i++) data[i] = (i * 7919) >> 5
  const found = await resizePicture({ height, width, channels: 4, data }, { height, width })
  const wanted = new Uint8Array(height * width * 3)
  for (let pixel = 0; pixel < height * width; pixel++)
    for (let channel = 0; channel < 3; channel++) {
      const opacity = data[pixel * 4 + 3]!
      const total = data[pixel * 4 + channel]! * opacity + 255 * (255 - opacity) + 128
      wanted[pixel * 3 + channel] = ((total >> 8) + total) >> 8
    }
  expect(Buffer.from(found).equals(Buffer.from(wanted))).toBe(true)
})

test('a large image does not stop the event loop', async () => {
  const [height, width] = [3000, 4000]
  const data = new Uint8Array(height * width * 3).fill(90)
  await resizePicture({ height: 2, width: 2, channels: 3, data: data.subarray(0, 12) }, { height: 28, width: 28 })
  let longest = 0
  let last = performance.now()
  let used = process.cpuUsage()
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(used)
    // Time without the processor was time of other processes.
    longest = Math.max(longest, Math.min(performance.now() - last, (user + system) / 1000))
    last = performance.now()
    used = process.cpuUsage()
  }, 1)
  const found = await resizePicture({ height, width, channels: 3, data }, { height: 840, width: 1120 })
  clearInterval(timer)
  expect(found.every(byte => byte === 90)).toBe(true)
  // It takes a few ms. In one piece it would be hundreds.
  expect(longest).toBeLessThan(100)
})
