/**
 * Frames of video files through an installed ffmpeg, as a child process: its output is a stream of PPM images, which say their
 * own size. Only formats of video files are opened, from the file alone: playlists could name other files and servers.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { MediaError } from './media-error.js'

export interface FfmpegOptions {
  /** The program, by path or by name on the PATH; `ffprobe` has to be beside it. Default: `ffmpeg`. */
  readonly ffmpeg?: string
  readonly timeoutSeconds: number
  /** Of one frame. */
  readonly maxPixels: number
  readonly signal?: AbortSignal | undefined
}

interface VideoFile {
  readonly frames: number
  readonly fps: number
}

export interface Frame {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

const formats = 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,ogg,asf,gif'
const input = (path: string): string[] => [
  '-protocol_whitelist',
  'file',
  '-format_whitelist',
  formats,
  '-i',
  `file:${path}`,
]

/** How many frames a video file has, and how many a second. */
export async function probeVideo(path: string, options: FfmpegOptions): Promise<VideoFile> {
  const ffmpeg = await findProgram(options)
  const ffprobe = join(dirname(ffmpeg), 'ffprobe')
  await access(ffprobe, constants.X_OK).catch(() => {
    throw new MediaError('program', `there is no ffprobe beside ${ffmpeg}; install both`)
  })
  // A packet that the file says to discard (`D`, of a cut without encoding) is no frame.
  const wanted = ['-select_streams', 'v:0', '-show_entries', 'stream=avg_frame_rate:packet=flags']
  const form = ['-of', 'compact=print_section=0:nokey=1']
  let frames = 0
  let fps = 0
  await run(ffprobe, ['-v', 'error', ...wanted, ...form, ...input(path)], options, async output => {
    for await (const line of createInterface({ input: output })) {
      // Side data may follow in a line.
      if (/^[K_]_/.test(line)) frames++
      const [, numerator, denominator] = /^(\d+)\/(\d+)/.exec(line) ?? []
      if (denominator !== undefined) fps = Number(numerator) / Number(denominator)
    }
    return 'all'
  })
  if (!(frames > 0) || !(fps > 0) || !Number.isFinite(fps))
    throw new MediaError('format', 'ffprobe finds no video in it that has frames and a frame rate')
  return { frames, fps }
}

/** The frames of these indices, in their order, one at a time. */
export async function readFrames(
  path: string,
  indices: readonly number[],
  onFrame: (frame: Frame) => Promise<void>,
  options: FfmpegOptions,
): Promise<void> {
  const ffmpeg = await findProgram(options)
  const filter = ['-map', '0:v:0', '-vf', `select='${chosen(indices)}'`, '-fps_mode', 'passthrough']
  const output = ['-f', 'image2pipe', '-c:v', 'ppm', '-pix_fmt', 'rgb24', 'pipe:1']
  let count = 0
  await run(ffmpeg, ['-v', 'error', '-nostdin', ...input(path), ...filter, ...output], options, async stream => {
    for await (const frame of ppmFrames(stream, options.maxPixels)) {
      await onFrame(frame)
      if (++count === indices.length) return 'enough'
    }
    return 'all'
  })
  if (count < indices.length)
    throw new MediaError('damaged', `ffmpeg gives ${count} of ${indices.length} frames; the file may be cut off`)
}

/** True for the frames of these indices. ffmpeg refuses a sum of hundreds of terms, so this is a search by halves. */
function chosen(indices: readonly number[]): string {
  if (indices.length <= 16) return indices.map(index => `eq(n\\,${index})`).join('+')
  const middle = indices.length >> 1
  const [before, after] = [indices.slice(0, middle), indices.slice(middle)]
  return `if(lt(n\\,${after[0]})\\,${chosen(before)}\\,${chosen(after)})`
}

/** The program's path, found or named. */
async function findProgram({ ffmpeg = 'ffmpeg' }: FfmpegOptions): Promise<string> {
  const isPath = isAbsolute(ffmpeg) || dirname(ffmpeg) !== '.'
  const places = isPath
    ? [ffmpeg]
    : (process.env.PATH ?? '')
        .split(delimiter)
        .filter(Boolean)
        .map(place => join(place, ffmpeg))
  for (const place of places)
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return place
  throw new MediaError(
    'program',
    `video files are read by ffmpeg, and ${isPath ? `there is none at ${ffmpeg}` : 'there is none on the PATH'}; ` +
      'install it, name it by option, or give the video as frames',
  )
}

/** Runs a program to its end. It is killed when the time is up, on abort, and when the reader has enough. */
async function run(
  program: string,
  args: readonly string[],
  { timeoutSeconds, signal }: FfmpegOptions,
  read: (output: Readable) => Promise<'all' | 'enough'>,
): Promise<void> {
  signal?.throwIfAborted()
  const limit = AbortSignal.timeout(timeoutSeconds * 1000)
  const ends = signal ? AbortSignal.any([signal, limit]) : limit
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = (): void => void child.kill('SIGKILL')
  ends.addEventListener('abort', kill)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < 2000) errors += chunk
  })
  const ended = endOf(child)
  try {
    if ((await read(child.stdout)) === 'enough') return
    const code = await ended
    signal?.throwIfAborted()
    if (limit.aborted) throw new MediaError('limit', `it was not read within ${timeoutSeconds} s`)
    const [why = `exit code ${code}`] = errors.trim().split('\n').filter(Boolean)
    if (code !== 0) throw new MediaError('damaged', `ffmpeg cannot read it: ${why.slice(0, 200)}`)
  } finally {
    ends.removeEventListener('abort', kill)
    kill()
    child.stdout.destroy()
    await ended.catch(() => undefined)
  }
}

function endOf(child: ChildProcess): Promise<number | null> {
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('close', resolve)
    child.on('error', error =>
      reject(new MediaError('program', `ffmpeg cannot be started: ${error.message}`, { cause: error })),
    )
  })
  // Reading may fail first.
  ended.catch(() => undefined)
  return ended
}

const header = /^P6\s+(\d+)\s+(\d+)\s+255\s/
const longestHeader = 64

/** Images of the form `P6 WIDTH HEIGHT 255` and their bytes, one after another. */
async function* ppmFrames(stream: AsyncIterable<unknown>, maxPixels: number): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  let frame: { width: number; height: number; data: Uint8Array } | undefined
  let filled = 0
  for await (const chunk of stream) {
    let bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    rest = Buffer.alloc(0)
    while (bytes.length > 0) {
      if (!frame) {
        const found = header.exec(bytes.toString('latin1', 0, longestHeader))
        if (!found) {
          if (bytes.length >= longestHeader) throw new MediaError('program', 'ffmpeg did not answer with PPM images')
          rest = bytes
          break
        }
        const [width, height] = [Number(found[1]), Number(found[2])]
        if (width * height > maxPixels)
          throw new MediaError('limit', `its frames have ${width} x ${height} pixels; the limit is ${maxPixels}`)
        if (width * height < 1) throw new MediaError('empty', `its frames have ${width} x ${height} pixels`)
        frame = { width, height, data: new Uint8Array(width * height * 3) }
        filled = 0
        bytes = bytes.subarray(found[0].length)
      }
      const part = bytes.subarray(0, frame.data.length - filled)
      frame.data.set(part, filled)
      filled += part.length
      bytes = bytes.subarray(part.length)
      if (filled === frame.data.length) {
        yield frame
        frame = undefined
      }
    }
  }
}
