/** Bytes of an image or a video, from where they are. */
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSystemError, systemProblem } from '../errors/index.js'
import { bytesHash } from './content-hash.js'
import { fetchMedia, type UrlOptions } from './fetch-media.js'
import { type FileInput, resolveImage } from './inputs.js'
import { MediaError } from './media-error.js'
import { tooLarge } from './too-large.js'

export interface ReadOptions {
  /** Relative paths start here. Default: the working directory. */
  readonly baseDirectory?: string
  /** Files outside are refused, also through symbolic links. Default: none are. */
  readonly root?: string
  /** Default: URLs of other machines are refused. */
  readonly urls?: UrlOptions | undefined
  readonly maxBytes: number
  readonly signal?: AbortSignal | undefined
  /** Told of each file and URL that was read, with its SHA-256. What it throws ends the reading. */
  readonly onRead?: ((name: string, sha256: string) => Promise<void>) | undefined
}

/** A file by its path, checked but not read, or its bytes. */
type FoundFile = { readonly path: string } | { readonly bytes: Uint8Array }

export async function findFile(file: FileInput, options: ReadOptions): Promise<FoundFile> {
  if (file.kind === 'bytes') return { bytes: checkSize(file.bytes, options) }
  if (file.kind === 'path') return { path: await checkPath(file.path, options) }
  const { url } = file
  switch (url.protocol) {
    case 'file:':
      return { path: await checkPath(pathOf(url), options) }
    case 'data:':
      return { bytes: dataBytes(url, options) }
    case 'http:':
    case 'https:':
      return { bytes: await fetchMedia(url, options) }
    default:
      throw new MediaError('form', `expected a file:, data: or http(s): URL, got ${url.protocol}`)
  }
}

/** The path of a file of this machine, which is there, by its path or `file:` URL. */
export async function existingPath(given: string): Promise<string> {
  const file = resolveImage(given)
  const isHere = file.kind === 'path' || (file.kind === 'url' && file.url.protocol === 'file:')
  if (!isHere) throw new MediaError('form', 'expected a path or a file: URL')
  const found = file.kind === 'path' ? file.path : pathOf(file.url)
  await checkPath(found, {})
  return resolve(homePath(found))
}

export async function readBytes(file: FileInput, options: ReadOptions): Promise<Uint8Array> {
  const found = await findFile(file, options)
  const bytes = 'bytes' in found ? found.bytes : await readWhole(found.path, options)
  const name = 'path' in found ? found.path : remoteName(file)
  if (name !== undefined && options.onRead) await options.onRead(name, await bytesHash(bytes))
  return bytes
}

/** Of a file of a server, which may have another content the next time. */
function remoteName(file: FileInput): string | undefined {
  return file.kind === 'url' && /^https?:$/.test(file.url.protocol) ? file.url.href : undefined
}

/** How messages name what was given. */
export function fileName(file: FileInput): string {
  if (file.kind === 'path') return file.path
  if (file.kind === 'bytes') return file.name ?? `${file.bytes.length} bytes`
  const { url } = file
  if (url.protocol === 'data:') return `${url.href.slice(0, url.href.indexOf(',') + 1).slice(0, 60)}...`
  return `${url.protocol}//${url.host}${url.pathname}`
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw new MediaError('form', `expected a file: URL of this machine: ${(error as Error).message}`)
  }
}

async function checkPath(
  given: string,
  { baseDirectory = '.', root }: Pick<ReadOptions, 'baseDirectory' | 'root'>,
): Promise<string> {
  if (given.includes('\0')) throw new MediaError('form', 'a path has no NUL characters')
  const full = resolve(baseDirectory, root === undefined ? homePath(given) : given)
  // Before the file system is asked: a refusal does not tell what is outside.
  if (root !== undefined && !isInside(resolve(root), full)) throw outside(root)
  try {
    const real = await realpath(full)
    if (root !== undefined && !isInside(await realpath(root), real)) throw outside(root)
    // A pipe or a device would never end.
    if (!(await stat(real)).isFile()) throw new MediaError('form', 'it is not a file')
    return real
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new MediaError('missing', systemProblem(error, 'read'), { cause: error })
  }
}

const homePath = (path: string): string => (path.startsWith('~/') ? join(homedir(), path.slice(2)) : path)

const outside = (root: string): MediaError => new MediaError('refused', `it lies outside ${root}`)

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !/^([a-z]:|[\\/])/i.test(way))
}

async function readWhole(path: string, { maxBytes, signal }: ReadOptions): Promise<Uint8Array> {
  return reading(path, async handle => {
    const { size } = await handle.stat()
    if (size > maxBytes) throw tooLarge(size, maxBytes)
    signal?.throwIfAborted()
    const bytes = await handle.readFile()
    // It may have grown.
    if (bytes.length > maxBytes) throw tooLarge(bytes.length, maxBytes)
    return bytes
  })
}

/** The first bytes of a file, which say what it is. */
export async function readHead(path: string): Promise<Uint8Array> {
  return reading(path, async handle => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0)
    return buffer.subarray(0, bytesRead)
  })
}

async function reading<T>(path: string, read: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    const handle = await open(path)
    try {
      return await read(handle)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new MediaError('missing', systemProblem(error, 'read'), { cause: error })
  }
}

function dataBytes({ href }: URL, options: ReadOptions): Uint8Array {
  const comma = href.indexOf(',')
  if (comma === -1) throw new MediaError('form', 'a data: URL has a comma before its bytes')
  const text = href.slice(comma + 1)
  const isBase64 = /;\s*base64\s*$/i.test(href.slice(0, comma))
  if (text.length > options.maxBytes * (isBase64 ? 1.4 : 3) + 4) throw tooLarge(text.length, options.maxBytes)
  return checkSize(isBase64 ? base64Bytes(text) : percentBytes(text), options)
}

function base64Bytes(text: string): Uint8Array {
  const plain = text.includes('%') ? Buffer.from(percentBytes(text)).toString('latin1') : text
  if (!/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(plain)) throw new MediaError('form', 'its base64 has other characters')
  return Buffer.from(plain, 'base64')
}

function percentBytes(text: string): Uint8Array {
  try {
    const decoded = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    return Buffer.from(decoded, 'latin1')
  } catch (error) {
    throw new MediaError('form', 'its text cannot be decoded', { cause: error })
  }
}

function checkSize(bytes: Uint8Array, { maxBytes }: ReadOptions): Uint8Array {
  if (bytes.length > maxBytes) throw tooLarge(bytes.length, maxBytes)
  return bytes
}
