/** A reader of TensorBoard's event files that shares nothing with the writer: checksums bit by bit, fields by their wire types. */
import { readFileSync } from 'node:fs'

export interface ReadEvent {
  wallTime: number
  step: number
  version?: string
  sessionStart: boolean
  scalars: Record<string, number>
  texts: Record<string, string>
}

export function readEventFile(path: string): ReadEvent[] {
  const bytes = readFileSync(path)
  const events: ReadEvent[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at))
    const data = bytes.subarray(at + 12, at + 12 + length)
    if (bytes.readUInt32LE(at + 8) !== masked(bytes.subarray(at, at + 8)))
      throw new Error(`${at}: bad checksum of the length`)
    if (bytes.readUInt32LE(at + 12 + length) !== masked(data)) throw new Error(`${at}: bad checksum of the data`)
    events.push(readEvent(data))
    at += 16 + length
  }
  return events
}

function readEvent(data: Buffer): ReadEvent {
  const event: ReadEvent = { wallTime: 0, step: 0, sessionStart: false, scalars: {}, texts: {} }
  for (const { field, value } of fields(data)) {
    if (field === 1) event.wallTime = (value as Buffer).readDoubleLE()
    if (field === 2) event.step = Number(value)
    if (field === 3) event.version = (value as Buffer).toString()
    if (field === 5)
      for (const { value: one } of fields(value as Buffer)) {
        const parts = new Map(fields(one as Buffer).map(part => [part.field, part.value as Buffer]))
        const name = parts.get(1)!.toString()
        if (parts.has(2)) event.scalars[name] = parts.get(2)!.readFloatLE()
        else event.texts[name] = textOf(parts)
      }
    if (field === 7) event.sessionStart = fields(value as Buffer).some(part => part.field === 1 && part.value === 1n)
  }
  return event
}

/** A tensor of one string, with the plugin that shows it. */
function textOf(parts: ReadonlyMap<number, Buffer>): string {
  const [plugin] = fields(parts.get(9)!)
  if (fields(plugin!.value as Buffer)[0]!.value.toString() !== 'text') throw new Error('not a text')
  const tensor = new Map(fields(parts.get(8)!).map(part => [part.field, part.value]))
  if (tensor.get(1) !== 7n) throw new Error('not a string')
  return tensor.get(8)!.toString()
}

function fields(data: Buffer): { field: number; value: bigint | Buffer }[] {
  const found: { field: number; value: bigint | Buffer }[] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = data[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  while (at < data.length) {
    const key = Number(varint())
    const wire = key & 7
    if (wire === 0) found.push({ field: key >> 3, value: varint() })
    else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : Number(varint())
      found.push({ field: key >> 3, value: data.subarray(at, at + length) })
      at += length
    }
  }
  return found
}

/** CRC-32C by long division in GF(2), masked. */
function masked(bytes: Uint8Array): number {
  let crc = 0xffffffffn
  for (const byte of bytes) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0x82f63b78n : crc >> 1n
  }
  crc ^= 0xffffffffn
  return Number((((crc >> 15n) | (crc << 17n)) + 0xa282ead8n) & 0xffffffffn)
}
