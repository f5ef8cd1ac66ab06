/** Images of rows in code become files beside the rows: with the pixels that a model would read of them directly. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { spoolMedia } from '../../src/api/spool-media.js'
import { MediaProcessor, readMediaConfig } from '../../src/media/index.js'
import { fresh } from '../support/files.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
const media = new MediaProcessor({ config })
const file = join(fresh('rows'), 'data.jsonl')
interface Spooled {
  readonly images: readonly string[]
  readonly videos?: unknown
}
const spooled = async (row: object) => (await spoolMedia({ ...row }, file, 'data: row 1')) as unknown as Spooled
const at = { baseDirectory: dirname(file) }

test.each([1, 3, 4])('pixels of %i bytes, of images and of frames', async channels => {
  const [width, height, frames] = [30, 40, 3]
  const data = Uint8ClampedArray.from({ length: width * height * channels * frames }, (_, i) => (i * 7919) >> 3)
  const image = { data: data.subarray(0, width * height * channels), width, height }
  const video = { data, width, height, frames, fps: 2 }
  const { images, videos } = await spooled({ images: [image], videos: [video] })
  const [kept, given] = await Promise.all([
    media.prepare({ images, videos }, at),
    media.prepare({ images: [image], videos: [video] }),
  ])
  if (kept.kind === 'failed' || given.kind === 'failed') throw new Error('failed')
  for (const kind of ['images', 'videos'] as const)
    expect(Buffer.from(kept[kind][0]!.frames).equals(Buffer.from(given[kind][0]!.frames)), kind).toBe(true)
  expect(kept.videos[0]!.times).toEqual(given.videos[0]!.times)
})

test('paths, file URLs and links keep their endings; what cannot be read is said with its field', async () => {
  const path = join(folder, 'rgb.png')
  mkdirSync(join(dirname(file), 'links'), { recursive: true })
  const link = join(dirname(file), 'links/named.png')
  const blob = join(dirname(file), 'links/0123abc')
  writeFileSync(blob, 'x')
  symlinkSync(blob, link)
  const names = async (images: unknown) => (await spooled({ images })).images
  expect(await names([path, pathToFileURL(path).href, link])).toEqual([
    expect.stringMatching(/^media\/\w{64}\.png$/),
    expect.stringMatching(/^media\/\w{64}\.png$/),
    expect.stringMatching(/^media\/\w{64}\.png$/),
  ])
  const home = `~/${relative(homedir(), path)}`
  expect(await names(home)).toBe((await names([path]))[0])
  for (const [given, words] of [
    ['gone.png', 'data: row 1, field images: gone.png: there is no such file'],
    [folder, 'it is not a file'],
    ['file://elsewhere/a.png', 'a file: URL of this machine'],
    ['ftp://host/a.png', 'expected a path or a file: URL'],
    [{ data: new Uint8Array(7), width: 2, height: 1 }, 'field images: expected 1, 3 or 4 bytes for each of 2 pixels'],
    [{ data: new Uint8Array(6), width: 2, height: 0 }, 'with a width and a height'],
    [7n, 'got a bigint'],
  ] as const)
    await expect(spooled({ images: [given] })).rejects.toThrow(words)
})
