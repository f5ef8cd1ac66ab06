/** Sounds: read and checked, and passed on as they are. No local model hears them. */
import type { AudioClip } from '../sequence/index.js'
import type { FileInput } from './inputs.js'
import { MediaError } from './media-error.js'
import { fileName, readBytes } from './read-file.js'

/**
 * A sound: a path, a `file:` or `data:` URL or the bytes of a file, or an object that has one of these. The sampling rate of a WAV file is
 * read from the file; other formats need it.
 */
export type AudioInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | { readonly audio: AudioInput; readonly samplingRate?: number }
  | { readonly path: string; readonly bytes?: null; readonly samplingRate?: number }
  | { readonly bytes: Uint8Array | ArrayBuffer; readonly path?: string | null; readonly samplingRate?: number }

const maxBytes = 256 * 2 ** 20

/** A {@link MediaError} says why it cannot be used. */
export async function readAudio(
  input: unknown,
  place: { readonly baseDirectory?: string | undefined; readonly root?: string | undefined } = {},
): Promise<AudioClip> {
  const { file, samplingRate: asked } = audioFile(input)
  try {
    const { baseDirectory, root } = place
    const where = { ...(baseDirectory === undefined ? {} : { baseDirectory }), ...(root === undefined ? {} : { root }) }
    const bytes = await readBytes(file, { ...where, maxBytes })
    const ofFile = wavRate(bytes)
    const samplingRate = asked ?? ofFile
    if (samplingRate === undefined)
      throw new MediaError('form', 'samplingRate: missing; only WAV files say it themselves, in Hz')
    if (!Number.isInteger(samplingRate) || samplingRate < 1)
      throw new MediaError('form', `samplingRate: expected a count of samples in a second, got ${samplingRate}`)
    if (ofFile !== undefined && ofFile !== samplingRate)
      throw new MediaError('form', `samplingRate: the file has ${ofFile} Hz, and the row says ${samplingRate}`)
    return { bytes, samplingRate, mimeType: mimeType(bytes) }
  } catch (error) {
    throw error instanceof MediaError ? error.of(fileName(file)) : error
  }
}

function audioFile(input: unknown, asked?: number): { file: FileInput; samplingRate: number | undefined } {
  if (input instanceof ArrayBuffer)
    return { file: { kind: 'bytes', bytes: new Uint8Array(input) }, samplingRate: asked }
  if (input instanceof Uint8Array) return { file: { kind: 'bytes', bytes: input }, samplingRate: asked }
  if (typeof input === 'string' || input instanceof URL) {
    const text = String(input)
    const isUrl = /^[a-z][a-z\d+.-]+:/i.test(text) && URL.canParse(text)
    const file: FileInput = isUrl ? { kind: 'url', url: new URL(text) } : { kind: 'path', path: text }
    return { file, samplingRate: asked }
  }
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    const { audio, bytes, path, samplingRate, sampling_rate } = input as Readonly<Record<string, unknown>>
    const inner = audio ?? bytes ?? path
    const rate = samplingRate ?? sampling_rate
    if (inner !== undefined && inner !== null) return audioFile(inner, typeof rate === 'number' ? rate : asked)
  }
  throw new MediaError('form', 'expected a sound: a path, a URL, bytes, or an object with one of these')
}

/** Of a WAV file: the chunk `fmt ` has it. */
function wavRate(bytes: Uint8Array): number | undefined {
  const text = (from: number): string => Buffer.from(bytes.subarray(from, from + 4)).toString('latin1')
  if (bytes.length < 12 || text(0) !== 'RIFF' || text(8) !== 'WAVE') return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true)
    if (text(at) === 'fmt ' && at + 16 <= bytes.length) return view.getUint32(at + 12, true)
    // Chunks begin at even places.
    at += 8 + size + (size % 2)
  }
  throw new MediaError('damaged', 'a WAV file without its format')
}

function mimeType(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (head.startsWith('RIFF')) return 'audio/wav'
  if (head.startsWith('fLaC')) return 'audio/flac'
  if (head.startsWith('OggS')) return 'audio/ogg'
  if (head.startsWith('ID3') || (bytes[0] === 0xff && (bytes[1]! & 0xe0) === 0xe0)) return 'audio/mpeg'
  throw new MediaError('format', 'expected a WAV, FLAC, Ogg or MP3 file')
}
