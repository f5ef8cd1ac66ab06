/**
 * `index/metrics.bin`: the metrics of a long run as columns, so that the next look at it does not parse the log again. It is made from the
 * log, says how far it goes, and may be deleted at any time.
 */
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
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

export async function readMetricIndex(directory: string): Promise<IndexedMetrics | undefined> {
  const file = await open(runPaths(directory).metricIndex).catch(() => undefined)
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    const first = Buffer.alloc(Math.min(size, mostHeader))
    const { bytesRead } = await file.read(first, 0, first.length, 0)
    const end = first.subarray(0, bytesRead).indexOf(10)
    if (end < 0) return undefined
    const header = JSON.parse(first.toString('utf8', 0, end)) as Header
    const length = (header.names.length + 2) * header.rows * 8
    if (header.version !== 1 || size !== end + 1 + length) return undefined
    // In memory of its own: the columns stay in it.
    const body = new Uint8Array(length)
    for (let at = 0; at < length; ) {
      const read = await file.read(body, at, length - at, end + 1 + at)
      if (read.bytesRead === 0) return undefined
      at += read.bytesRead
    }
    if (crc32(body) !== header.crc32) return undefined
    return { table: MetricTable.restored(header, body), mark: header.mark, bad: header.bad }
  } catch {
    // Another version, or a damaged file: the log has everything.
    return undefined
  } finally {
    await file.close()
  }
}

/** Whether it was written: not for short logs, nor where the directory cannot be written to. */
export async function writeMetricIndex(directory: string, { table, mark, bad }: IndexedMetrics): Promise<boolean> {
  if (table.rows < worthRows) return false
  const { header, bytes } = table.snapshot()
  const body = Buffer.concat(bytes)
  const first: Header = { version: 1, ...header, mark, bad, crc32: crc32(body) }
  const { index, metricIndex } = runPaths(directory)
  try {
    await makeDirectory(index)
    await writeFileAtomic(metricIndex, Buffer.concat([Buffer.from(`${JSON.stringify(first)}\n`), body]))
    return true
  } catch {
    return false
  }
}
