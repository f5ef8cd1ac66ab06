// Why not a library: the archives here hold entries of hundreds of megabytes, must be checked (CRC, size, SHA-256) while they
// stream to disk, and arrive before npm has finished installing anything. Node has the hard parts (inflate, crc32);
// what is left is the central directory.

import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'

/** The archive does not say what it should: cut short, damaged, or hostile. */
export class BrokenArchiveError extends Error {
  override readonly name = 'BrokenArchiveError'
}

export interface ZipEntry {
  name: string
  size: number
  executable: boolean
  directory: boolean
  crc: number
  compressedSize: number
  deflated: boolean
  /** Where its local header starts. */
  offset: number
}

export interface Zip {
  entries: ZipEntry[]
  /** The entry's bytes; ends with BrokenArchiveError when they are not the ones the directory promises. */
  read(entry: ZipEntry): AsyncGenerator<Buffer>
  close(): Promise<void>
}

export async function openZip(path: string): Promise<Zip> {
  const file = await open(path)
  try {
    const entries = parseDirectory(await readDirectory(file), (await file.stat()).size)
    return { entries, read: entry => readEntry(file, entry), close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The whole content of a small entry. */
export async function readWhole(zip: Zip, entry: ZipEntry): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of zip.read(entry)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const signatures = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 }

interface Directory {
  bytes: Buffer
  count: number
}

async function readDirectory(file: FileHandle): Promise<Directory> {
  const { size } = await file.stat()
  // The end record is 22 bytes and may be followed by a comment of up to 65,535.
  const tail = await readAt(file, Math.max(0, size - 22 - 0xffff), Math.min(size, 22 + 0xffff))
  let at = tail.length - 22
  while (at >= 0 && !(tail.readUInt32LE(at) === signatures.end && at + 22 + tail.readUInt16LE(at + 20) === tail.length))
    at--
  if (at < 0) throw new BrokenArchiveError('it has no end record: it is incomplete, or is not a zip archive')

  let count = tail.readUInt16LE(at + 10)
  let length = tail.readUInt32LE(at + 12)
  let offset = tail.readUInt32LE(at + 16)
  if (count === 0xffff || length === 0xffffffff || offset === 0xffffffff) {
    const locator = at - 20
    if (locator < 0 || tail.readUInt32LE(locator) !== signatures.locator64)
      throw new BrokenArchiveError('its zip64 locator is missing')
    const end64 = await readAt(file, toNumber(tail.readBigUInt64LE(locator + 8)), 56)
    if (end64.readUInt32LE(0) !== signatures.end64) throw new BrokenArchiveError('its zip64 end record is missing')
    count = toNumber(end64.readBigUInt64LE(32))
    length = toNumber(end64.readBigUInt64LE(40))
    offset = toNumber(end64.readBigUInt64LE(48))
  }
  if (offset + length > size) throw new BrokenArchiveError('its directory lies outside the file')
  return { bytes: await readAt(file, offset, length), count }
}

function parseDirectory({ bytes, count }: Directory, fileSize: number): ZipEntry[] {
  const entries: ZipEntry[] = []
  const names = new Set<string>()
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== signatures.central)
      throw new BrokenArchiveError(`its directory ends after ${index} of ${count} entries`)
    const flags = bytes.readUInt16LE(at + 8)
    const method = bytes.readUInt16LE(at + 10)
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28)
    const extraEnd = nameEnd + bytes.readUInt16LE(at + 30)
    const next = extraEnd + bytes.readUInt16LE(at + 32)
    if (next > bytes.length) throw new BrokenArchiveError(`its directory ends after ${index} of ${count} entries`)
    const name = bytes.toString('utf8', at + 46, nameEnd)
    const mode = bytes.readUInt32LE(at + 38) >>> 16
    const [size, compressedSize, offset] = wideFields(bytes.subarray(nameEnd, extraEnd), [
      bytes.readUInt32LE(at + 24),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ])
    const refuse = (what: string) => new BrokenArchiveError(`its entry ${JSON.stringify(name)} ${what}`)
    if (flags & 1) throw refuse('is encrypted')
    if (method !== 0 && method !== 8) throw refuse(`uses compression method ${method}`)
    if ((mode & 0xf000) === 0xa000) throw refuse('is a symbolic link')
    if (escapes(name)) throw refuse('would land outside the directory it is unpacked into')
    if (names.has(name)) throw refuse('is there twice')
    if (offset + compressedSize > fileSize) throw refuse('lies outside the file')
    if (method === 0 && size !== compressedSize) throw refuse('has two different sizes')
    names.add(name)
    entries.push({
      name,
      size,
      compressedSize,
      offset,
      crc: bytes.readUInt32LE(at + 16),
      deflated: method === 8,
      executable: (mode & 0o100) !== 0,
      directory: name.endsWith('/'),
    })
    at = next
  }
  return entries
}

type Sizes = [size: number, compressedSize: number, offset: number]

/** Fields of 0xffffffff stand in the zip64 extra (id 1), in this order, only those that did not fit. */
function wideFields(extra: Buffer, fields: Sizes): Sizes {
  if (!fields.includes(0xffffffff)) return fields
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + extra.readUInt16LE(at + 2)
    if (extra.readUInt16LE(at) === 1) {
      let field = at + 4
      return fields.map(value => {
        if (value !== 0xffffffff) return value
        if (field + 8 > Math.min(end, extra.length)) throw new BrokenArchiveError('a zip64 field is incomplete')
        field += 8
        return toNumber(extra.readBigUInt64LE(field - 8))
      }) as Sizes
    }
    at = end
  }
  throw new BrokenArchiveError('a zip64 field is missing')
}

function escapes(name: string): boolean {
  return name === '' || /^[/\\]|^[a-z]:|\\|\0/i.test(name) || name.split('/').includes('..')
}

async function* readEntry(file: FileHandle, entry: ZipEntry): AsyncGenerator<Buffer> {
  const damaged = (what: string) => new BrokenArchiveError(`its entry ${JSON.stringify(entry.name)} ${what}`)
  const header = await readAt(file, entry.offset, 30)
  if (header.readUInt32LE(0) !== signatures.local) throw damaged('is not where the directory says')
  const start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)

  let crc = 0
  let size = 0
  try {
    for await (const chunk of entry.deflated
      ? inflate(file, start, entry)
      : ranges(file, start, entry.compressedSize)) {
      size += chunk.length
      if (size > entry.size) throw damaged('is longer than it says')
      crc = crc32(chunk, crc)
      yield chunk
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
      throw damaged('cannot be inflated')
    throw error
  }
  if (size !== entry.size) throw damaged('is shorter than it says')
  if (crc !== entry.crc) throw damaged('has the wrong checksum')
}

function inflate(file: FileHandle, start: number, entry: ZipEntry): AsyncIterable<Buffer> {
  const inflater = createInflateRaw({ chunkSize: entry.size > 1 << 20 ? 1 << 20 : 1 << 16 })
  // Errors come out of the iteration below; the callback only keeps them from being thrown a second time.
  return pipeline(ranges(file, start, entry.compressedSize), inflater, () => {})
}

/** Positioned reads rather than a read stream: several entries are read through one handle at once. */
async function* ranges(file: FileHandle, start: number, length: number): AsyncGenerator<Buffer> {
  for (let at = start; at < start + length; ) {
    const chunk = await readAt(file, at, Math.min(1 << 20, start + length - at))
    at += chunk.length
    yield chunk
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new BrokenArchiveError('it was cut short')
    filled += bytesRead
  }
  return buffer
}

function toNumber(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BrokenArchiveError('it states an impossible size')
  return Number(value)
}
