/** Where an image or a video comes from, for those who want the file itself. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type FileInput, resolveImage, resolveVideo } from './inputs.js'
import { MediaError } from './media-error.js'

export interface MediaOrigin {
  /** Of a file of this machine. */
  readonly path?: string
  /** Of a server. */
  readonly url?: string
  /** Of what was given as bytes. */
  readonly bytes?: Uint8Array
}

/** Nothing for decoded pixels, for lists of frames, and for what only another processor knows. */
export function mediaOrigin(kind: 'image' | 'video', input: unknown, baseDirectory = '.'): MediaOrigin {
  const found = resolved(kind, input)
  if (!found) return {}
  const file = 'file' in found ? found.file : found
  if (file.kind !== 'path' && file.kind !== 'url' && file.kind !== 'bytes') return {}
  return originOf(file, baseDirectory)
}

function resolved(kind: 'image' | 'video', input: unknown) {
  try {
    return kind === 'image' ? resolveImage(input) : resolveVideo(input)
  } catch (error) {
    if (error instanceof MediaError) return undefined
    throw error
  }
}

function originOf(file: FileInput, baseDirectory: string): MediaOrigin {
  if (file.kind === 'bytes') return { bytes: file.bytes }
  if (file.kind === 'path') return { path: resolve(baseDirectory, file.path) }
  const { protocol, href } = file.url
  if (protocol === 'file:') return { path: fileURLToPath(file.url) }
  if (protocol !== 'data:') return { url: href }
  const [head = '', text = ''] = [href.slice(0, href.indexOf(',')), href.slice(href.indexOf(',') + 1)]
  return { bytes: Buffer.from(decodeURIComponent(text), /;\s*base64\s*$/i.test(head) ? 'base64' : 'latin1') }
}
