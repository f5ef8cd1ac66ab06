/**
 * `index/metrics.bin`: the metrics of a long run as columns, so that the next look at it does not parse the log again. It is made from the
 * log, says how far it goes, and may be deleted at any time.
 */
import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { RunError } from './errors.js'
import type { TailMark } from './log-tail.js'
import { type MetricSnapshot, MetricTable } from './metric-table.js'
import { runPaths } from './paths.js'

interface Header extends MetricSnapshot {
  readonly version: 1
  readonly mark: TailMark
  readonly bad: readonly number[]
  readonly crc32: number
}

/** A header is a few names; one that is longer is not of this version. */
const mostHeader = 1 << 20
/** Fewer lines are parsed faster than a file is opened. */
const worthRows = 2000

interface IndexedMetrics {
  readonly table: MetricTable
  readonly mark: TailMark
  /** Lines that are not JSON. */
  readonly bad: readonly number[]
}

/** Checks the whole file. Its columns are read later, when they are asked for: most questions are about few of them. */
export async function readMetricIndex(directory: string): Promise<IndexedMetrics | undefined> {
  let file: number
  try {
    file = openSync(runPaths(directory).metricIndex, 'r')
  } catch {
    return undefined
  }
  const known = await checkedIndex(file).catch(() => undefined)
  // Another version, or a damaged file: the log has everything.
  if (!known) closeSync(file)
  else unusedTables.register(known.table, file)
  return known
}

/** A newer index replaces the file; the open one stays as it is. */
const unusedTables = new FinalizationRegistry<number>(closeSync)

async function checkedIndex(file: number): Promise<IndexedMetrics | undefined> {
  const { size } = fstatSync(file)
  const room = Buffer.alloc(Math.min(size, mostHeader))
  const first = await readFully(file, room, 0)
  const end = first.indexOf(10)
  if (end < 0) return undefined
  const header = JSON.parse(first.toString('utf8', 0, end)) as Header
  const start = end + 1
  if (header.version !== 1 || size !== start + (header.names.length + 2) * header.rows * 8) return undefined
  let sum = 0
  for (let at = start; at < size; at += room.length)
    sum = crc32(await readFully(file, room.subarray(0, Math.min(room.length, size - at)), at), sum)
  if (sum !== header.crc32) return undefined
  const column = (place: number): Float64Array => {
    const values = new Float64Array(header.rows)
    if (readSync(file, values, 0, values.byteLength, start + place * values.byteLength) !== values.byteLength)
      throw new RunError('index/metrics.bin has become shorter; delete it, it is made again')
    return values
  }
  return { table: MetricTable.restored(header, column), mark: header.mark, bad: header.bad }
}

async function readFully(file: number, into: Buffer, position: number): Promise<Buffer> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await readPart(file, into, at, into.length - at, position + at)
    if (bytesRead === 0) return into.subarray(0, at)
    at += bytesRead
  }
  return into
}

const readPart = promisify(read)

/** Whether it was written: not for short logs, nor where the directory cannot be written to. */
export async function writeMetricIndex(directory: string, { table, mark, bad }: IndexedMetrics): Promise<boolean> {
  if (table.rows < worthRows) return false
  const { header, bytes } = table.snapshot()
  const sum = bytes.reduce((before, piece) => crc32(piece, before), 0)
  const first: Header = { version: 1, ...header, mark, bad, crc32: sum }
  const { index, metricIndex } = runPaths(directory)
  try {
    await makeDirectory(index)
    await writeFileAtomic(metricIndex, async file => {
      for (const piece of [Buffer.from(`${JSON.stringify(first)}\n`), ...bytes]) await file.writeFile(piece)
    })
    return true
  } catch {
    return false
  }
}
