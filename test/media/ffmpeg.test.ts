/** A program in the place of ffmpeg answers as ffmpeg does. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { MediaProcessor, readMediaConfig } from '../../src/media/index.js'
import { fresh } from '../support/files.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
const video = fresh('video.mp4')
writeFileSync(video, 'frames')

interface Fake {
  readonly frames?: number
  readonly rate?: string
  /** Code of the program, after `args`, `wanted` and `frame(i)` are there. */
  readonly answer?: string
}

/** A directory with ffmpeg and ffprobe. Frame i is 40 x 30 pixels of the value i. */
function install({
  frames = 20,
  rate = '10/1',
  answer = 'for (const i of wanted) process.stdout.write(frame(i))',
}: Fake) {
  const directory = fresh('bin')
  mkdirSync(directory)
  const program = (name: string, code: string) => {
    writeFileSync(join(directory, name), code)
    chmodSync(join(directory, name), 0o755)
  }
  const packets = Array.from({ length: frames }, (_, i) => (i === 0 ? 'K_' : '__'))
  program('ffprobe', `#!/bin/sh\nprintf '%s\\n' ${[...packets, rate].join(' ')}\n`)
  program(
    'ffmpeg',
    `#!${process.execPath}
     const args = process.argv.slice(2)
     require('fs').writeFileSync(${JSON.stringify(join(directory, 'args.json'))}, JSON.stringify(args))
     const wanted = [...args[args.indexOf('-vf') + 1].matchAll(/eq\\(n\\\\,(\\d+)\\)/g)].map(found => Number(found[1]))
     const frame = i => Buffer.concat([Buffer.from('P6\\n40 30\\n255\\n'), Buffer.alloc(3600, i)])
     ${answer}`,
  )
  return {
    ffmpeg: join(directory, 'ffmpeg'),
    args: () => JSON.parse(readFileSync(join(directory, 'args.json'), 'utf8')) as string[],
  }
}

const read = async (
  fake: Fake,
  options: { timeoutSeconds?: number; maxPixels?: number } = {},
  input: unknown = video,
) => {
  const { ffmpeg } = install(fake)
  return new MediaProcessor({ config, ffmpeg, limits: options }).prepare({ videos: [input] })
}

test('the frames that the family asks for are read', async () => {
  const { ffmpeg, args } = install({})
  const found = await new MediaProcessor({ config, ffmpeg }).video(video)
  // 2 seconds at 2 frames a second: frames 0, 5, 10 and 15.
  expect(found.grid).toEqual([2, 4, 6])
  expect(found.secondsPerGrid).toBe(1)
  expect(found.times).toEqual([0.25, 1.25])
  const size = 56 * 84 * 3
  expect([0, 1, 2, 3].map(i => found.frames[i * size])).toEqual([0, 5, 10, 15])
  expect(found.frames.length).toBe(4 * size)
  expect(args()).toContain(`file:${video}`)
  expect(args().join(' ')).toContain('-protocol_whitelist file -format_whitelist mov,')
})

test('bytes go through a file, and fps asks for more frames', async () => {
  const found = await read({}, {}, { bytes: readFileSync(video), fps: 5 })
  expect(found).toMatchObject({ kind: 'media', videos: [{ grid: [5, 4, 6], secondsPerGrid: 0.4 }] })
})

describe('failures are outcomes', () => {
  test.each<[string, Fake, { timeoutSeconds?: number; maxPixels?: number }, string, string]>([
    ['a file that is cut off', { answer: 'process.stdout.write(frame(0))' }, {}, 'damaged', 'gives 1 of 4 frames'],
    [
      'an error',
      { answer: `console.error('moov atom not found'); process.exit(1)` },
      {},
      'damaged',
      'moov atom not found',
    ],
    ['no video stream', { frames: 0 }, {}, 'format', 'ffprobe finds no video'],
    ['no frame rate', { rate: '0/0' }, {}, 'format', 'ffprobe finds no video'],
    ['frames that are too large', {}, { maxPixels: 1000 }, 'limit', '40 x 30 pixels; the limit is 1000'],
    ['other output', { answer: `process.stdout.write('x'.repeat(5000))` }, {}, 'program', 'PPM'],
    ['no end', { answer: 'setInterval(() => {}, 1000)' }, { timeoutSeconds: 0.5 }, 'limit', 'not read within 0.5 s'],
  ])('%s', async (_, fake, options, reason, message) => {
    expect(await read(fake, options)).toMatchObject({
      kind: 'failed',
      reason,
      message: expect.stringContaining(message),
    })
  })

  test('more frames than asked for are not read', async () => {
    const found = await read({
      answer: 'for (let i = 0; i < 1e9; i++) if (!process.stdout.write(frame(i & 255))) break',
    })
    expect(found).toMatchObject({ kind: 'media', videos: [{ grid: [2, 4, 6] }] })
  })

  test('an installation that lacks it', async () => {
    const { PATH } = process.env
    process.env.PATH = folder
    try {
      expect(await new MediaProcessor({ config }).prepare({ videos: video })).toMatchObject({
        kind: 'failed',
        reason: 'program',
        message: expect.stringContaining(
          'there is none on the PATH; install it, name it by option, or give the video as frames',
        ),
      })
    } finally {
      process.env.PATH = PATH
    }
    expect(await new MediaProcessor({ config, ffmpeg: '/nowhere/ffmpeg' }).prepare({ videos: video })).toMatchObject({
      message: expect.stringContaining('there is none at /nowhere/ffmpeg'),
    })
  })

  test('an abort ends it and is thrown', async () => {
    const { ffmpeg } = install({ answer: 'setInterval(() => {}, 1000)' })
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 300)
    const waiting = new MediaProcessor({ config, ffmpeg }).prepare({ videos: video }, { signal: controller.signal })
    await expect(waiting).rejects.toThrow('enough')
  })
})
