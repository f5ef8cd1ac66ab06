/** Rows of a program as a file of rows, so that shuffling, epochs, resuming and replaying work as they do from files. */
import { open } from 'node:fs/promises'
import { InputError } from '../errors/index.js'
import { spoolMedia } from './spool-media.js'

/** Rows in memory, or made one by one. */
export type Rows<Row extends object = object> = Iterable<Row> | AsyncIterable<Row>

/** Text that is written at once. */
const partLength = 1 << 16

/** Writes a line of JSON for each row, and never holds more than a part of them. A row that JSON cannot hold is an error. */
export async function spoolRows(
  rows: Rows,
  file: string,
  { option, signal }: { option: string; signal: AbortSignal | undefined },
): Promise<void> {
  const handle = await open(file, 'w')
  try {
    let [text, number] = ['', 0]
    for await (const row of rows) {
      number++
      const where = `${option}: row ${number}`
      const placed = isPlain(row) ? await spoolMedia(row, file, where) : row
      text += `${jsonLine(placed, where)}\n`
      if (text.length < partLength) continue
      await handle.writeFile(text)
      signal?.throwIfAborted()
      text = ''
    }
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function jsonLine(row: unknown, where: string): string {
  if (!isPlain(row))
    throw new InputError(`${where}: expected an object of columns, such as { prompt: '...' }, got ${kind(row)}`)
  checkValue(row, where, '', new Set())
  return JSON.stringify(row)
}

/** What JSON would lose, change or refuse. A field that is undefined is one that is not there. */
function checkValue(value: unknown, where: string, field: string, around: Set<object>): void {
  const refuse = (what: string): never => {
    throw new InputError(`${where}${field === '' ? '' : `, field ${field}`}: JSON cannot represent ${what}`)
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(String(value))
    return
  }
  if (!Array.isArray(value) && !isPlain(value)) refuse(kind(value))
  const container = value as object
  if (around.has(container)) refuse('an object that contains itself')
  around.add(container)
  for (const [key, inner] of Object.entries(container)) {
    const name = Array.isArray(container) ? `${field}[${key}]` : field === '' ? key : `${field}.${key}`
    if (inner !== undefined || Array.isArray(container)) checkValue(inner, where, name, around)
  }
  around.delete(container)
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function kind(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  return Array.isArray(value) ? 'a list' : `an object of class ${value.constructor.name}`
}
