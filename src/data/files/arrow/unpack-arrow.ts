/**
 * Arrow files (`ARROW1`, Feather 2) and streams (what `datasets` saves), unpacked record batch by record batch. Written here because
 * Arrow's own package reads a file as a whole, lacks views of text and the compression of buffers, and is much larger.
 */
import type { FileHandle } from 'node:fs/promises'
import { DataError } from '../../errors.js'
import { featureReadings, withReadings } from '../features.js'
import { bytesAt, hashOf, type UnpackedFile, type UnpackOptions, type UnpackTarget, unpackInto } from '../unpacked.js'
import { maxBatchBytes, type RecordBatch, readBatch } from './buffers.js'
import { type Column, ColumnReader } from './columns.js'
import { FlatTable } from './flatbuffer.js'
import { type ArrowField, type ArrowSchema, readSchema } from './schema.js'

const magic = 'ARROW1'

export async function unpackArrow(source: FileHandle, options: UnpackOptions): Promise<UnpackedFile> {
  const { shown, signal } = options
  const { size } = await source.stat()
  const fingerprint = await hashOf(source, signal)
  const reader = new ArrowReader(source, size)
  const handle = await unpackInto(shown, async to => {
    try {
      await reader.unpack(to, options)
    } catch (cause) {
      if (cause instanceof DataError || signal?.aborted) throw cause
      throw new DataError(
        `${shown}: not a whole Arrow file (${(cause as Error).message}; ${reader.rows} rows were read, up to byte ${reader.position}); fetch it again`,
        { cause },
      )
    }
  })
  return { handle, fingerprint, bytes: size }
}

interface Message {
  readonly kind: number
  readonly header: FlatTable
  readonly body: Uint8Array
}

class ArrowReader {
  rows = 0
  position = 0
  readonly #dictionaries = new Map<number, unknown[]>()

  constructor(
    private readonly source: FileHandle,
    private readonly size: number,
  ) {}

  async unpack(to: UnpackTarget, { signal, wanted = Number.POSITIVE_INFINITY }: UnpackOptions): Promise<void> {
    let schema: ArrowSchema | undefined
    let readings: ReturnType<typeof featureReadings> = new Map()
    for await (const { kind, header, body } of this.#messages()) {
      signal?.throwIfAborted()
      if (kind === 1) {
        schema = readSchema(header)
        checkNames(schema.fields)
        readings = featureReadings(schema.metadata.get('huggingface'))
      } else if (!schema) throw new Error('it does not begin with its columns')
      else if (kind === 2) await this.#addDictionary(header, body, schema)
      else if (kind === 3) {
        const batch = await readBatch(header, body)
        const columns = this.#columns(schema.fields, batch)
        await to.writeRows(batch.length, i =>
          withReadings(Object.fromEntries(columns.map(([name, column]) => [name, column(i)])), readings),
        )
        this.rows += batch.length
        if (this.rows >= wanted) return
      } else throw new Error(`it has a message of kind ${kind}, which is not known`)
    }
    if (!schema) throw new Error('it has no columns')
  }

  #columns(fields: readonly ArrowField[], batch: RecordBatch): (readonly [string, Column])[] {
    const reader = new ColumnReader(batch, this.#dictionaries)
    return fields.map(field => [field.name, reader.column(field)] as const)
  }

  async #addDictionary(header: FlatTable, body: Uint8Array, { fields }: ArrowSchema): Promise<void> {
    const id = header.long(0)
    const data = header.table(1)
    const field = fieldOf(id, fields)
    if (!data || !field) throw new Error(`a dictionary of no column (${id})`)
    const batch = await readBatch(data, body)
    const { dictionary: _, ...entries } = field
    const column = new ColumnReader(batch, this.#dictionaries).column(entries)
    const values = Array.from({ length: batch.length }, (_, i) => column(i))
    const isDelta = header.byte(2) === 1
    this.#dictionaries.set(id, isDelta ? [...(this.#dictionaries.get(id) ?? []), ...values] : values)
  }

  /** A stream is messages up to a mark; a file has a table of contents at its end. */
  async *#messages(): AsyncGenerator<Message> {
    const start = latin1(await bytesAt(this.source, 0, Math.min(this.size, 8)))
    if (start.startsWith('FEA1')) throw new Error('it is of the first version of Feather; save it as Parquet')
    if (!start.startsWith(magic)) {
      for (let message = await this.#message(); message; message = await this.#message()) yield message
      return
    }
    const end = await bytesAt(this.source, Math.max(0, this.size - 10), Math.min(10, this.size))
    if (!latin1(end).endsWith(magic) || this.size < 20) throw new Error(`the file ends too early, at byte ${this.size}`)
    const length = new DataView(end.buffer).getInt32(0, true)
    if (length <= 0 || length > this.size - 10) throw new Error('the data is damaged')
    const footer = FlatTable.root(await bytesAt(this.source, this.size - 10 - length, length))
    const schema = footer.table(1)
    if (!schema) throw new Error('it has no columns')
    yield { kind: 1, header: schema, body: new Uint8Array(0) }
    for (const offset of [...footer.offsets(2), ...footer.offsets(3)]) {
      this.position = offset
      const message = await this.#message()
      if (message) yield message
    }
  }

  /** The next message, or undefined at the mark of the end: without that mark, the rest is missing. */
  async #message(): Promise<Message | undefined> {
    let at = this.position
    let length = await this.#int(at)
    at += 4
    // Files of old versions have no mark before the length.
    if (length === -1) {
      length = await this.#int(at)
      at += 4
    }
    if (length === 0) return undefined
    this.#need(at, length)
    const message = FlatTable.root(await bytesAt(this.source, at, length))
    at += length
    const bodyLength = message.long(3)
    if (bodyLength > maxBatchBytes)
      throw new Error(`a record batch of more than ${maxBatchBytes / 2 ** 20} MiB; write smaller batches`)
    this.#need(at, bodyLength)
    const body = await bytesAt(this.source, at, bodyLength)
    const header = message.table(2)
    if (!header) throw new Error('a message has no header')
    this.position = at + bodyLength
    return { kind: message.byte(1), header, body }
  }

  async #int(at: number): Promise<number> {
    return new DataView((await bytesAt(this.source, at, 4)).buffer).getInt32(0, true)
  }

  #need(at: number, length: number): void {
    if (length < 0) throw new Error('the data is damaged')
    if (at + length > this.size) throw new Error(`the file ends too early, at byte ${this.size}`)
  }
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

function checkNames(fields: readonly ArrowField[]): void {
  const twice = fields.find(({ name }, i) => fields.findIndex(other => other.name === name) !== i)
  if (twice) throw new Error(`two columns are called ${twice.name}`)
}

/** The column that a dictionary is of, wherever it lies in others. */
function fieldOf(id: number, fields: readonly ArrowField[]): ArrowField | undefined {
  for (const field of fields) {
    const found = field.dictionary?.id === id ? field : fieldOf(id, field.children)
    if (found) return found
  }
  return undefined
}
