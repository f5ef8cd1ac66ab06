/** With the ffmpeg of this machine, where there is one: videos that it makes are read back. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type MediaConfig, MediaProcessor, type PreparedMedia, readMediaConfig } from '../../src/media/index.js'
import { fresh } from '../support/files.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
const isInstalled = spawnSync('ffmpeg', ['-version']).status === 0 && spawnSync('ffprobe', ['-version']).status === 0

const [width, height] = [56, 84]
const size = width * height * 3

/** Runs ffmpeg with a file of this name as its output. */
function made(name: string, args: readonly string[], input?: Uint8Array): string {
  const file = fresh(name)
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-y', ...args, file], { input })
  if (status !== 0) throw new Error(String(stderr))
  return file
}

/** A video without loss: frame i has the value i % 256 in its left half, and i / 256 in its right. */
function counting(frames: number, fps: number): string {
  const data = new Uint8Array(frames * size)
  for (let i = 0; i < frames; i++)
    for (let at = 0; at < size; at++) data[i * size + at] = at % (width * 3) < (width * 3) / 2 ? i % 256 : i >> 8
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${width}x${height}`, '-r', `${fps}`, '-i', 'pipe:0']
  return made('counting.mkv', [...raw, '-c:v', 'ffv1', '-pix_fmt', 'bgr0'], data)
}

const shown = ({ frames }: PreparedMedia, i: number) => frames[i * size]! + 256 * frames[(i + 1) * size - 1]!
const numbersOf = (video: PreparedMedia) =>
  Array.from({ length: video.frames.length / size }, (_, i) => shown(video, i))
const read = (video: unknown, its: MediaConfig = config) =>
  new MediaProcessor({ config: its }).prepare({ videos: [video] })

describe.skipIf(!isInstalled)('an installed ffmpeg', () => {
  test('the frames that are asked for, to the bit', async () => {
    const file = counting(40, 10)
    const found = await new MediaProcessor({ config }).video(file)
    expect(found.grid).toEqual([4, 6, 4])
    expect(numbersOf(found)).toEqual([0, 5, 10, 15, 20, 25, 30, 35])
    expect(found).toMatchObject({ secondsPerGrid: 1, times: [0.25, 1.25, 2.25, 3.25] })
    const whole = Array.from({ length: size }, (_, at) => (at % (width * 3) < (width * 3) / 2 ? 35 : 0))
    expect(Buffer.from(found.frames.subarray(7 * size)).equals(Buffer.from(whole))).toBe(true)
    const bytes = await read({ bytes: readFileSync(file), fps: 5 })
    expect(bytes).toMatchObject({ kind: 'media', videos: [{ grid: [10, 6, 4], secondsPerGrid: 0.4 }] })
  })

  test('hundreds of frames of a long video', async () => {
    const long = { ...config, video: { ...config.video, fps: 10, maxFrames: 700 } }
    const found = await new MediaProcessor({ config: long }).video(counting(1400, 20))
    expect(numbersOf(found)).toEqual(Array.from({ length: 700 }, (_, i) => 2 * i))
  }, 60_000)

  test.each(['mp4', 'webm', 'avi', 'ts', 'mkv', 'mov'])('%s', async name => {
    const source = ['-f', 'lavfi', '-i', 'testsrc=size=56x84:rate=10:duration=2', '-pix_fmt', 'yuv420p']
    const found = await read(made(`video.${name}`, source))
    expect(found).toMatchObject({ kind: 'media', videos: [{ grid: [2, 6, 4], secondsPerGrid: 1 }] })
  })

  test('a video that was cut without encoding has the frames that are shown', async () => {
    const source = ['-f', 'lavfi', '-i', 'testsrc=size=56x84:rate=10:duration=4', '-pix_fmt', 'yuv420p']
    const file = made('whole.mp4', [...source, '-c:v', 'mpeg4', '-g', '100'])
    const cut = made('cut.mp4', ['-ss', '2', '-i', file, '-c', 'copy'])
    expect(await read(cut)).toMatchObject({ kind: 'media', videos: [{ grid: [2, 6, 4] }] })
  })

  test('sounds, playlists and files that are cut off are outcomes', async () => {
    const sound = made('sound.mp4', ['-f', 'lavfi', '-i', 'sine=duration=1'])
    expect(await read(sound)).toMatchObject({ kind: 'failed', reason: 'format' })
    const list = { bytes: Buffer.from('#EXTM3U\n#EXTINF:10,\nfile:///etc/hostname\n') }
    expect(await read(list)).toMatchObject({ kind: 'failed', reason: 'damaged' })
    const whole = readFileSync(made('video.mp4', ['-f', 'lavfi', '-i', 'testsrc=size=56x84:rate=10:duration=2']))
    const half = await read({ bytes: whole.subarray(0, whole.length / 2) })
    expect(half).toMatchObject({ kind: 'failed', reason: 'damaged' })
    expect((half as { message: string }).message.length).toBeLessThan(300)
  })
})
