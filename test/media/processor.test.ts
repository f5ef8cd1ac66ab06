import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { type ImageInput, MediaProcessor, readMediaConfig, type VideoInput } from '../../src/media/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
const path = join(folder, 'rgb.png')
const bytes = readFileSync(path)
const pixels = { data: new Uint8Array(await sharp(bytes).raw().toBuffer()), width: 36, height: 24 }
const media = new MediaProcessor({ config })
const base64 = bytes.toString('base64')

describe('forms of an image', () => {
  test('all of them give the same pixels', async () => {
    const forms: Record<string, ImageInput> = {
      path,
      'file URL': pathToFileURL(path),
      'file URL as text': pathToFileURL(path).href,
      'data URL': `data:image/png;base64,${base64}`,
      bytes,
      'an array of bytes': new Uint8Array(bytes),
      'an ArrayBuffer': new Uint8Array(bytes).buffer,
      pixels,
      clamped: { ...pixels, data: new Uint8ClampedArray(pixels.data) },
      'an object': { image: path },
      'an object in an object': { image: { bytes, path: null } },
      'a part of OpenAI': { image_url: { url: `data:image/png;base64,${base64}` } },
      'a row of datasets': { bytes, path: 'a.png' },
      'a row of datasets with a path': { bytes: null, path },
    }
    const wanted = await media.image(path)
    for (const [name, form] of Object.entries(forms)) {
      const found = await media.image(form)
      expect(Buffer.from(found.frames).equals(Buffer.from(wanted.frames)), name).toBe(true)
      expect(found.grid).toEqual(wanted.grid)
      // The same file has one name; decoded pixels have another.
      expect(found.hash === wanted.hash, name).toBe(name !== 'pixels' && name !== 'clamped')
    }
  })

  test('null, one, lists and nested lists', async () => {
    const count = async (images: unknown) => {
      const found = await media.prepare({ images })
      return found.kind === 'media' ? found.images.length : found.message
    }
    expect(await count(null)).toBe(0)
    expect(await count(undefined)).toBe(0)
    expect(await count([])).toBe(0)
    expect(await count(path)).toBe(1)
    expect(await count([path, { image: bytes }, pixels])).toBe(3)
    expect(await count([[path, path], null, [[bytes]]])).toBe(3)
  })

  test('what is none is an outcome with a reason', async () => {
    const failed = async (images: unknown) => {
      const found = await media.prepare({ images })
      return found.kind === 'failed' ? [found.reason, found.message] : found.kind
    }
    expect(await failed('nowhere.png')).toEqual(['missing', 'nowhere.png: there is no such file or directory'])
    expect(await failed(folder)).toEqual(['form', expect.stringContaining('it is not a file')])
    expect(await failed(7)).toEqual(['form', expect.stringContaining('got 7')])
    expect(await failed({ picture: path })).toEqual(['form', expect.stringContaining('an object with picture')])
    expect(await failed('')).toEqual(['form', expect.stringContaining('an empty text')])
    expect(await failed('a\0b')).toEqual(['form', expect.stringContaining('NUL')])
    expect(await failed('ftp://host/a.png')).toEqual(['form', expect.stringContaining('got ftp:')])
    expect(await failed('https://host/a.png')).toEqual(['refused', expect.stringContaining('allow them by option')])
    expect(await failed('data:image/png;base64,????')).toEqual(['form', expect.stringContaining('base64')])
    expect(await failed('data:image/png')).toEqual(['form', expect.stringContaining('comma')])
    expect(await failed({ ...pixels, width: 35 })).toEqual(['form', expect.stringContaining('bytes for each')])
    expect(await failed({ ...pixels, width: 0 })).toEqual(['empty', expect.stringContaining('0 x 24')])
    expect(await failed(Buffer.from('not an image'))).toEqual(['format', expect.stringMatching(/^12 bytes: /)])
    expect(await failed({ data: new Uint8Array(603), width: 201, height: 1 })).toEqual([
      'shape',
      expect.stringContaining('200 times'),
    ])
  })

  test('a file that is larger than the limit', async () => {
    const small = new MediaProcessor({ config, limits: { maxBytes: 100 } })
    for (const image of [path, bytes, `data:image/png;base64,${base64}`])
      expect(await small.prepare({ images: image })).toMatchObject({ kind: 'failed', reason: 'limit' })
  })
})

describe('places', () => {
  const root = temporaryDirectory()
  const outside = temporaryDirectory()
  mkdirSync(join(root, 'images'))
  writeFileSync(join(root, 'images/a.png'), bytes)
  writeFileSync(join(outside, 'b.png'), bytes)
  symlinkSync(join(outside, 'b.png'), join(root, 'link.png'))
  symlinkSync(join(root, 'images/a.png'), join(root, 'inside.png'))
  const at = (images: unknown) => media.prepare({ images }, { baseDirectory: root, root })

  test('relative paths start at the base, and inside the root all is read', async () => {
    for (const name of ['images/a.png', './images/../images/a.png', join(root, 'images/a.png'), 'inside.png'])
      expect((await at(name)).kind, name).toBe('media')
  })

  test('paths and links that leave the root are refused', async () => {
    for (const name of [
      join(outside, 'b.png'),
      '../x',
      'link.png',
      pathToFileURL(join(outside, 'b.png')).href,
      '/etc/passwd',
    ])
      expect(await at(name), name).toMatchObject({ kind: 'failed', reason: 'refused' })
  })
})

describe('work that is shared', () => {
  test('an image is prepared once, while it is in work and after', async () => {
    const fresh = new MediaProcessor({ config })
    const all = await Promise.all(Array.from({ length: 8 }, () => fresh.image(bytes)))
    expect(new Set(all.map(({ frames }) => frames)).size).toBe(1)
    expect((await fresh.image({ image: path })).frames).toBe(all[0]!.frames)
  })

  test('the cache is bounded, and what fails is not kept', async () => {
    const fresh = new MediaProcessor({ config, cacheBytes: 0 })
    const [a, b] = [await fresh.image(bytes), await fresh.image(bytes)]
    expect(a.frames).not.toBe(b.frames)
    expect(a).toEqual(b)
    const bad = Buffer.from(bytes.subarray(0, 900))
    for (let i = 0; i < 2; i++) await expect(fresh.image(bad)).rejects.toMatchObject({ reason: 'damaged' })
  })

  test('other bounds give other pixels and another name', async () => {
    const large = new MediaProcessor({ config, imagePixels: { minPixels: 20_000 } })
    const [small, grown] = [await media.image(path), await large.image(path)]
    expect(grown.frames.length).toBeGreaterThan(small.frames.length)
    expect(grown.hash).not.toBe(small.hash)
    expect(() => new MediaProcessor({ config, imagePixels: { minPixels: 1e9 } })).toThrow('minPixels <= maxPixels')
  })
})

describe('videos', () => {
  const frames = Array.from({ length: 4 }, (_, i) => join(folder, `qwen2_5_vl/video0/0${i}.png`))
  const gif = join(folder, 'animated.gif')
  const count = async (videos: unknown) => {
    const found = await media.prepare({ videos })
    return found.kind === 'media' ? found.videos.map(({ grid }) => grid[0]) : found.message
  }

  test('lists of frames, arrays and animations', async () => {
    const array = { data: new Uint8Array(5 * 30 * 40 * 3), width: 40, height: 30, frames: 5 }
    expect(await count(null)).toEqual([])
    expect(await count([])).toEqual([])
    expect(await count(frames)).toEqual([2])
    expect(await count([frames, frames.slice(1)])).toEqual([2, 2])
    expect(await count({ frames, fps: 2 })).toEqual([2])
    expect(
      await count([
        { frames, fps: 2 },
        { ...array, fps: 1 },
      ]),
    ).toEqual([2, 3])
    expect(await count(array)).toEqual([3])
    expect(await count(gif)).toEqual([2])
    expect(await count([gif, { video: gif, fps: 1 }])).toEqual([2, 2])
    expect(await count([pixels, pixels])).toEqual([1])
  })

  test('an animation is known by its content: a link of another name, and a file that cannot be read', async () => {
    const place = temporaryDirectory()
    symlinkSync(gif, join(place, '0123abc'))
    expect(await count(join(place, '0123abc'))).toEqual([2])
    writeFileSync(join(place, 'film.mp4'), readFileSync(gif))
    expect(await count(join(place, 'film.mp4'))).toEqual([2])
    writeFileSync(join(place, 'named.gif'), 'a film')
    const none = new MediaProcessor({ config, ffmpeg: '/nowhere/ffmpeg' })
    expect(await none.prepare({ videos: join(place, 'named.gif') })).toMatchObject({ reason: 'program' })
  })

  test('times follow from the rate of the frames that are read', async () => {
    const video = (input: VideoInput) => media.video(input)
    expect(await video({ frames, fps: 4 })).toMatchObject({ secondsPerGrid: 0.5, times: [0.125, 0.625] })
    expect((await video(frames)).secondsPerGrid).toBeUndefined()
    // 4 frames, 250 ms each: the least count of frames keeps all of them.
    expect(await video(gif)).toMatchObject({ secondsPerGrid: 0.5, times: [0.125, 0.625] })
    const two = new MediaProcessor({ config: { ...config, video: { ...config.video, minFrames: 2 } } })
    expect(await two.video(gif)).toMatchObject({ grid: [1, 4, 6], secondsPerGrid: 1, times: [0.25] })
  })

  test('an odd frame stays, and the grid has a step for it', async () => {
    const found = await media.video({ frames: frames.slice(0, 3), fps: 2 })
    expect(found.grid[0]).toBe(2)
    expect(found.frames.length).toBe(3 * found.grid[1] * found.grid[2] * 14 * 14 * 3)
  })

  test('what cannot be used', async () => {
    expect(await count({ frames: [], fps: 2 })).toContain('no frames')
    expect(await count({ frames, fps: 0 })).toContain('fps: expected a number above 0, got 0')
    expect(await count({ frames: [frames[0], path] })).toContain('frame 1 has 36 x 24 pixels, and the first')
    expect(await count({ frames: [frames[0], 'gone.png'] })).toBe(
      'frames of a video: gone.png: there is no such file or directory',
    )
    expect(await count({ video: path })).toContain('it is a still image')
    expect(await count({ data: new Uint8Array(9), width: 1, height: 1, frames: 2 })).toContain(
      'bytes for each of 2 pixels',
    )
    const few = new MediaProcessor({ config, limits: { maxFrames: 3 } })
    expect(await few.prepare({ videos: { frames, fps: 1 } })).toMatchObject({ kind: 'failed', reason: 'limit' })
  })
})
