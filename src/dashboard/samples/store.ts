/**
 * The index of a run's samples on the disk, in `index/samples/` beside the journal it is made from:
 *
 * - `columns.bin`: the numbers, in segments that are added whole; each says which iterations it has and how long their files were
 * - `texts.bin`: ids and texts of prompts, and texts of responses; `places.bin`: where those of a row lie
 * - `folded.bin`: the same texts in lower case, to be searched
 * - `checked`: how often the run had begun or gone on when all its journal files were last found as long as the segments say
 *
 * Iterations are added in their order once nothing more happens to them. The index may be deleted at any time.
 */
import { type FileHandle, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type Lock, makeDirectory, tryLock, writeFileAtomic } from '../../files/index.js'
import { runPaths } from '../../run/index.js'
import { SampleColumns } from './columns.js'

export interface TextEntry {
  readonly promptId: string
  readonly prompt: string
  readonly response: string
}

/** The same in UTF-8, as it is kept and written: outside the heap of JavaScript, which the responses of an iteration might fill. */
export interface TextBytes {
  readonly promptId: string
  readonly prompt: Buffer
  readonly response: Buffer
}

/** An iteration whose samples are in the index, and how long its journal file was. */
interface SealedIteration {
  readonly iteration: number
  readonly size: number
}

interface Header {
  readonly version: 3
  readonly rows: number
  readonly bytes: number
  readonly components: readonly string[]
  readonly reasons: readonly string[]
  readonly iterations: readonly (readonly [iteration: number, size: number])[]
  /** Ends of the other files. */
  readonly texts: number
  readonly folded: number
  readonly crc32: number
}

/** A part of `columns.bin`: where it, its texts and its rows end, and which iterations it has. */
interface Segment {
  readonly end: number
  readonly rows: number
  readonly first: number
  readonly last: number
  readonly texts: number
  readonly folded: number
}

function segmentOf({ iterations, texts, folded }: Header, { end, rows }: { end: number; rows: number }): Segment {
  return { end, rows, first: iterations[0]![0], last: iterations.at(-1)![0], texts, folded }
}

const placeBytes = 32
/** A header names the iterations of its rows. It is read at once, or with a second or third try where it is long. */
const headBytes = [1 << 16, 1 << 20, 1 << 24]
/** Between texts: a byte that no UTF-8 has, so that nothing is found across the border. */
const border = Buffer.of(0xff)

export class SampleStore {
  readonly columns = new SampleColumns()
  /** 0 stands for "not dropped". */
  readonly reasons: string[] = ['']
  readonly sealed = new Map<number, number>()
  /** Rows whose texts are in the files. */
  stored = 0
  #segments: Segment[] = []
  #texts = 0
  #folded = 0
  #checkedResumes: number | undefined
  #pending: { texts: Buffer[]; folded: Buffer[]; places: Buffer[]; iterations: [number, number][] } = emptyPending()
  #pendingTexts = 0
  #pendingFolded = 0
  #lastPrompt: { iteration: number; promptId: string; at: number; idBytes: number; bytes: number } | undefined

  private constructor(
    private readonly directory: string,
    private readonly files: Files,
    private readonly lock: Lock | undefined,
    private readonly temporary: string | undefined,
  ) {}

  /** Where the run's directory cannot be written, the index is made in a temporary one. */
  static async open(run: string): Promise<SampleStore> {
    const home = join(runPaths(run).index, 'samples')
    const found = await atHome(home).catch(() => undefined)
    const temporary = found ? undefined : await mkdtemp(join(tmpdir(), 'whetstone-samples-'))
    const { directory, lock } = found ?? { directory: temporary!, lock: undefined }
    const mode = lock || temporary !== undefined ? 'a+' : 'r'
    const files = await openFiles(directory, mode)
    const store = new SampleStore(directory, files, lock, temporary)
    await store.#load()
    return store
  }

  /** Whether another process keeps the index: then this one only reads it. */
  get isReader(): boolean {
    return this.lock === undefined && this.temporary === undefined
  }

  /** Adds a row of an iteration that is being sealed. */
  add(row: Parameters<SampleColumns['add']>[0], { promptId, prompt, response }: TextBytes): void {
    const { texts, folded, places } = this.#pending
    const isSame = this.#lastPrompt?.promptId === promptId && this.#lastPrompt.iteration === row.iteration
    if (!isSame) {
      const id = Buffer.from(promptId)
      const at = this.#texts + this.#pendingTexts
      this.#lastPrompt = { iteration: row.iteration, promptId, at, idBytes: id.length, bytes: prompt.length }
      texts.push(id, prompt)
      this.#pendingTexts += id.length + prompt.length
      const low = lowerCase(prompt)
      folded.push(low, border)
      this.#pendingFolded += low.length + 1
    }
    const low = lowerCase(response)
    const place = Buffer.alloc(placeBytes)
    const { at, idBytes, bytes } = this.#lastPrompt!
    place.writeDoubleLE(at, 0)
    place.writeUInt32LE(idBytes, 8)
    place.writeUInt32LE(bytes, 12)
    place.writeDoubleLE(this.#texts + this.#pendingTexts, 16)
    place.writeUInt32LE(response.length, 24)
    places.push(place)
    this.columns.add({ ...row, foldAt: this.#folded + this.#pendingFolded, foldBytes: low.length })
    texts.push(response)
    folded.push(low, border)
    this.#pendingTexts += response.length
    this.#pendingFolded += low.length + 1
  }

  /** Nothing more comes of this iteration. */
  seal({ iteration, size }: SealedIteration): void {
    this.#pending.iterations.push([iteration, size])
    this.sealed.set(iteration, size)
  }

  get unsaved(): number {
    return this.columns.rows - this.stored
  }

  /** Writes what was sealed: texts first, so that a segment never knows of more than there is. */
  async save(): Promise<void> {
    const { texts, folded, places, iterations } = this.#pending
    if (iterations.length === 0) return
    const rows = this.columns.rows - this.stored
    await append(this.files.texts, Buffer.concat(texts), this.#texts)
    await append(this.files.folded, Buffer.concat(folded), this.#folded)
    await append(this.files.places, Buffer.concat(places), this.stored * placeBytes)
    this.#texts += this.#pendingTexts
    this.#folded += this.#pendingFolded
    const { components, bytes } = this.columns.encode(this.stored, this.stored + rows)
    const header: Header = {
      version: 3,
      rows,
      bytes: bytes.length,
      components,
      reasons: this.reasons,
      iterations,
      texts: this.#texts,
      folded: this.#folded,
      crc32: crc32(bytes),
    }
    const segment = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes])
    const start = this.#segments.at(-1)?.end ?? 0
    await append(this.files.columns, segment, start)
    this.stored += rows
    this.#segments.push(segmentOf(header, { end: start + segment.length, rows: this.stored }))
    this.#pending = emptyPending()
    this.#pendingTexts = 0
    this.#pendingFolded = 0
  }

  /** Forgets the segment that has this iteration, and all after it: the journal was written again from there. */
  async forgetFrom(iteration: number): Promise<void> {
    const keep = this.#segments.findIndex(({ last }) => last >= iteration)
    if (keep < 0) return
    const { first } = this.#segments[keep]!
    for (const one of this.sealed.keys()) if (one >= first) this.sealed.delete(one)
    this.#segments.length = keep
    await this.#cut()
  }

  /** How often the run had begun when the journal was last compared with the index, and neither was written to after that. */
  get checkedResumes(): number | undefined {
    return this.#checkedResumes
  }

  async checked(resumes: number): Promise<void> {
    if (this.isReader || resumes === this.#checkedResumes) return
    this.#checkedResumes = resumes
    await writeFileAtomic(join(this.directory, 'checked'), Buffer.from(`${resumes}\n`))
  }

  /** Id and texts of stored rows. */
  async texts(row: number, { most }: { most: number }): Promise<TextEntry> {
    const { buffer: place } = await this.files.places.read(Buffer.alloc(placeBytes), 0, placeBytes, row * placeBytes)
    const idBytes = place.readUInt32LE(8)
    const promptBytes = Math.min(most, place.readUInt32LE(12))
    const first = await readAt(this.files.texts, place.readDoubleLE(0), idBytes + promptBytes)
    const response = await readAt(this.files.texts, place.readDoubleLE(16), Math.min(most, place.readUInt32LE(24)))
    const promptId = first.toString('utf8', 0, idBytes)
    return textEntry({ promptId, prompt: first.subarray(idBytes), response }, { most })
  }

  get foldedFile(): FileHandle {
    return this.files.folded
  }

  get foldedBytes(): number {
    return this.#folded
  }

  async close(): Promise<void> {
    for (const file of Object.values(this.files)) await file.close()
    await this.lock?.release()
    if (this.temporary !== undefined) await rm(this.temporary, { recursive: true, force: true })
  }

  /** Segments up to the first that is torn or damaged. */
  async #load(): Promise<void> {
    const checked = await readFile(join(this.directory, 'checked'), 'utf8').catch(() => undefined)
    if (checked !== undefined) this.#checkedResumes = Number(checked)
    const { size } = await this.files.columns.stat()
    const room = new Room()
    for (let at = 0; at < size; ) {
      const found = await readSegment(this.files.columns, at, { size, room })
      if (!found) break
      const { header, body, end } = found
      this.columns.decode(header.rows, header.components, body)
      this.#take(header)
      this.#segments.push(segmentOf(header, { end, rows: this.stored }))
      at = end
    }
    if (!this.isReader) await this.#cut()
  }

  #take(header: Header): void {
    this.stored += header.rows
    this.reasons.splice(0, this.reasons.length, ...header.reasons)
    for (const [iteration, bytes] of header.iterations) this.sealed.set(iteration, bytes)
    this.#texts = header.texts
    this.#folded = header.folded
  }

  /** Files and columns as the segments say. */
  async #cut(): Promise<void> {
    const last = this.#segments.at(-1)
    this.stored = last?.rows ?? 0
    this.#texts = last?.texts ?? 0
    this.#folded = last?.folded ?? 0
    this.columns.truncate(this.stored)
    for (const [iteration] of this.#pending.iterations) this.sealed.delete(iteration)
    this.#pending = emptyPending()
    this.#pendingTexts = 0
    this.#pendingFolded = 0
    this.#lastPrompt = undefined
    if (this.isReader) return
    await this.files.columns.truncate(last?.end ?? 0)
    await this.files.texts.truncate(this.#texts)
    await this.files.folded.truncate(this.#folded)
    await this.files.places.truncate(this.stored * placeBytes)
  }
}

interface Files {
  readonly columns: FileHandle
  readonly texts: FileHandle
  readonly folded: FileHandle
  readonly places: FileHandle
}

const emptyPending = () => ({
  texts: [] as Buffer[],
  folded: [] as Buffer[],
  places: [] as Buffer[],
  iterations: [] as [number, number][],
})

/** In the run's directory, with the lock where no other process has it. */
async function atHome(home: string): Promise<{ directory: string; lock: Lock | undefined }> {
  await makeDirectory(home)
  const taken = await tryLock(join(home, 'lock'))
  return { directory: home, lock: 'lock' in taken ? taken.lock : undefined }
}

async function openFiles(directory: string, mode: 'a+' | 'r'): Promise<Files> {
  // Written at places, which `a` does not allow.
  if (mode === 'a+')
    for (const name of ['columns', 'texts', 'folded', 'places'])
      await (await open(join(directory, `${name}.bin`), 'a')).close()
  const file = (name: string): Promise<FileHandle> => open(join(directory, `${name}.bin`), mode === 'r' ? 'r' : 'r+')
  return {
    columns: await file('columns'),
    texts: await file('texts'),
    folded: await file('folded'),
    places: await file('places'),
  }
}

/** Memory that one segment after another is read into. */
class Room {
  #bytes = Buffer.alloc(0)

  async read(file: FileHandle, at: number, length: number): Promise<Buffer> {
    if (this.#bytes.length < length) this.#bytes = Buffer.alloc(length)
    const { bytesRead } = await file.read(this.#bytes, 0, length, at)
    return this.#bytes.subarray(0, bytesRead)
  }
}

/** The body lies in the room until the next segment is read. */
async function readSegment(file: FileHandle, at: number, { size, room }: { size: number; room: Room }) {
  let head: Buffer = Buffer.alloc(0)
  for (const most of headBytes) {
    if (!head.includes(10)) head = await room.read(file, at, Math.min(most, size - at))
  }
  const end = head.indexOf(10)
  if (end < 0) return undefined
  try {
    const header = JSON.parse(head.toString('utf8', 0, end)) as Header
    if (header.version !== 3 || header.bytes !== SampleColumns.bytesOf(header.rows, header.components.length))
      return undefined
    const body = await room.read(file, at + end + 1, header.bytes)
    if (body.length !== header.bytes || crc32(body) !== header.crc32) return undefined
    return { header, body, end: at + end + 1 + header.bytes }
  } catch {
    return undefined
  }
}

async function append(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at)
    at += bytesWritten
  }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  if (length === 0) return Buffer.alloc(0)
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

/** The first `most` bytes of each text. */
export function textEntry({ promptId, prompt, response }: TextBytes, { most }: { most: number }): TextEntry {
  return { promptId, prompt: whole(prompt.subarray(0, most)), response: whole(response.subarray(0, most)) }
}

const lowerCase = (text: Buffer): Buffer => Buffer.from(text.toString().toLowerCase())

/** Text that may be cut within a character. */
function whole(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\uFFFD+$/, '')
}
