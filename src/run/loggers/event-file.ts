/**
 * TensorBoard's event files: TFRecord frames around protobuf messages. The few messages a run needs are short enough to
 * write by hand, which saves a protobuf library and TensorFlow's schema files.
 */
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { AppendFile } from '../append-file.js'
import { maskedCrc32c } from './crc32c.js'

/**
 * A file of events for TensorBoard. A process writes one; TensorBoard reads a run's files in the order of their names.
 * The file is open only while it is written: a run that ends without waiting for its loggers leaves nothing open.
 */
export class EventFile {
  readonly #path: string
  #size = 0

  private constructor(path: string) {
    this.#path = path
  }

  /** With `purgeFrom`, TensorBoard forgets what earlier files say of that step and later ones: the run went back. */
  static async create(directory: string, { purgeFrom }: { purgeFrom?: number | undefined } = {}): Promise<EventFile> {
    const file = new EventFile(join(directory, await fileName(directory)))
    const events = [event(Date.now(), bytesField(3, Buffer.from('brain.Event:2')))]
    if (purgeFrom !== undefined) {
      const start = Buffer.concat([tag(1, 0), varint(1)])
      events.push(event(Date.now(), Buffer.concat([tag(2, 0), varint(purgeFrom), bytesField(7, start)])))
    }
    await file.add(events)
    return file
  }

  /** Adds events: all of them are on the disk, or none. */
  async add(events: readonly Buffer[]): Promise<void> {
    const file = await AppendFile.open(this.#path, { size: this.#size })
    try {
      await file.appendDurably(Buffer.concat(events))
      this.#size = file.size
    } finally {
      await file.close()
    }
  }
}

/** Numbers of a step. Times are in milliseconds. */
export function scalarEvent(step: number, time: number, values: Readonly<Record<string, number>>): Buffer {
  const summary = Object.entries(values).map(([name, value]) => Buffer.concat([scalarHead(name), float(value)]))
  return summaryEvent(step, time, summary)
}

/** Texts of a step, in Markdown, by name. */
export function textEvent(step: number, time: number, texts: Readonly<Record<string, string>>): Buffer {
  const summary = Object.entries(texts).map(([name, text]) => {
    // A tensor of one string, which the plugin "text" shows.
    const shape = bytesField(2, bytesField(2, Buffer.concat([tag(1, 0), varint(1)])))
    const tensor = Buffer.concat([tag(1, 0), varint(7), shape, bytesField(8, Buffer.from(text))])
    const plugin = bytesField(1, bytesField(1, Buffer.from('text')))
    const value = [bytesField(1, Buffer.from(name)), bytesField(8, tensor), bytesField(9, plugin)]
    return bytesField(1, Buffer.concat(value))
  })
  return summaryEvent(step, time, summary)
}

function summaryEvent(step: number, time: number, summary: readonly Buffer[]): Buffer {
  return event(time, Buffer.concat([tag(2, 0), varint(step), bytesField(5, Buffer.concat(summary))]))
}

function event(time: number, fields: Buffer): Buffer {
  return frame(Buffer.concat([tag(1, 1), double(time / 1000), fields]))
}

/** `events.out.tfevents.SECONDS.HOST.PID`, after every file there is: a run resumed within a second still comes later. */
async function fileName(directory: string): Promise<string> {
  const stamps = (await readdir(directory).catch(() => [])).map(
    name => /^events\.out\.tfevents\.(\d+)\./.exec(name)?.[1],
  )
  const stamp = Math.max(Math.floor(Date.now() / 1000), ...stamps.map(one => Number(one ?? 0) + 1))
  return `events.out.tfevents.${stamp}.${hostname()}.${process.pid}`
}

const heads = new Map<string, Buffer>()

/** What stands before a scalar's four bytes; names come again with every step. */
function scalarHead(name: string): Buffer {
  const known = heads.get(name)
  if (known) return known
  const inner = Buffer.concat([bytesField(1, Buffer.from(name)), tag(2, 5)])
  const head = Buffer.concat([tag(1, 2), varint(inner.length + 4), inner])
  heads.set(name, head)
  return head
}

/** TFRecord: length, its checksum, data, its checksum. */
function frame(data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeBigUInt64LE(BigInt(data.length))
  head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8)
  const foot = Buffer.alloc(4)
  foot.writeUInt32LE(maskedCrc32c(data))
  return Buffer.concat([head, data, foot])
}

/** A protobuf field's number and how it is written: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. */
function tag(field: number, wire: 0 | 1 | 2 | 5): Buffer {
  return varint(field * 8 + wire)
}

function bytesField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([tag(field, 2), varint(bytes.length), bytes])
}

/** A non-negative integer, seven bits a byte, the lowest first. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
