/** The files of `logs/`: JSONL for programs and people. Loggers read them. */
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { attributed } from './append-file.js'
import type { Json } from './exact-json.js'
import { contentOf } from './json-lines.js'
import { LogFile } from './log-file.js'
import type { Sizes } from './loggers/log-entries.js'
import { logFiles } from './paths.js'

/** A skipped row or sample. */
export interface SkippedRecord {
  /** Such as `data.jsonl:17`. */
  readonly where: string
  /** A short word that can be counted. */
  readonly reason: string
  /** A sentence for people. */
  readonly message: string
  readonly [field: string]: Json | undefined
}

type LogName = keyof typeof logFiles

interface OpenLogsOptions {
  /** On a resume: how many bytes each file had at the checkpoint the run goes back to. What came after is cut off. */
  readonly rewind?: { readonly offsets: Readonly<Record<string, number>> }
}

export class RunLogs {
  readonly #files: Readonly<Record<LogName, LogFile>>

  private constructor(files: Readonly<Record<LogName, LogFile>>) {
    this.#files = files
  }

  static async open(directory: string, { rewind }: OpenLogsOptions = {}): Promise<RunLogs> {
    const open = async (name: LogName): Promise<LogFile> => {
      const path = join(directory, logFiles[name])
      // Events tell what happened to the run, its interruptions too: they stay.
      const keep = rewind && name !== 'events' ? (rewind.offsets[logFiles[name]] ?? 0) : Number.POSITIVE_INFINITY
      await cutToLines(path, keep)
      return LogFile.open(path)
    }
    const opened: { close(): Promise<void> }[] = []
    const held = <T extends { close(): Promise<void> }>(file: T): T => {
      opened.push(file)
      return file
    }
    try {
      const files = {
        metrics: held(await open('metrics')),
        events: held(await open('events')),
        skipped: held(await open('skipped')),
        samples: held(await open('samples')),
      }
      return new RunLogs(files)
    } catch (error) {
      await Promise.allSettled(opened.map(file => file.close()))
      throw error
    }
  }

  metrics(step: number, values: Readonly<Record<string, number>>): void {
    // JSON cannot represent NaN and infinities; use the words of protobuf JSON.
    const written = Object.entries(values).map(([name, value]) => [name, Number.isFinite(value) ? value : `${value}`])
    this.#write('metrics', { step, time: now(), values: Object.fromEntries(written) as Json })
  }

  event(kind: string, fields: Readonly<Record<string, Json | undefined>>): void {
    this.#write('events', { time: now(), kind, ...fields })
  }

  skipped(record: SkippedRecord): void {
    this.#write('skipped', { time: now(), ...record })
  }

  sample(record: Readonly<Record<string, Json | undefined>>): void {
    this.#write('samples', { time: now(), ...record })
  }

  /** Bytes in each file; after `flush`, those of everything logged before it. */
  get offsets(): Record<string, number> {
    const names = Object.keys(logFiles) as LogName[]
    return Object.fromEntries(names.map(name => [logFiles[name], this.#files[name].size]))
  }

  /** Bytes of whole lines in the files that loggers read. */
  get sizes(): Sizes {
    const { metrics, samples, events } = this.#files
    return { metrics: metrics.size, samples: samples.size, events: events.size }
  }

  async flush(): Promise<void> {
    await allOf(Object.values(this.#files).map(file => file.flush()))
  }

  async close(): Promise<void> {
    await allOf(Object.values(this.#files).map(file => file.close()))
  }

  #write(name: LogName, line: Json): void {
    this.#files[name].write(`${JSON.stringify(line)}\n`)
  }
}

/** All of them come to their end before the first failure is thrown. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Cuts a file to whole lines of at most `limit` bytes together. */
async function cutToLines(path: string, limit: number): Promise<void> {
  const bytes = await contentOf(path)
  const size = bytes.subarray(0, Math.min(bytes.length, limit)).lastIndexOf(10) + 1
  if (size < bytes.length) await attributed(path, () => truncate(path, size))
}

function now(): string {
  return new Date().toISOString()
}
