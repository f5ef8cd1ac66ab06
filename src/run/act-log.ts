/**
 * `journal/acts.jsonl`: what people did to a run while it trained, each with its time and the iteration from which on it counts. An act is
 * on the disk before it has any effect, so that a resumed run and a replay do the same at the same iteration.
 */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { isSystemError } from '../errors/index.js'
import { makeDirectory, syncDirectory } from '../files/index.js'
import { AppendFile, attributed } from './append-file.js'
import type { Json } from './exact-json.js'
import { type RunConfig, readConfig } from './identity.js'
import { encodeLine, JournalReader } from './journal-lines.js'
import { runPaths } from './paths.js'

export interface ActRecord {
  readonly time: string
  /** The first iteration that it counts for. */
  readonly from: number
  readonly act: { readonly [field: string]: Json | undefined }
}

/** The acts of a run, oldest first. */
export async function readActs(directory: string): Promise<ActRecord[]> {
  return (await readLines(directory)).acts
}

async function readLines(directory: string): Promise<{ acts: ActRecord[]; size: number }> {
  const path = actPath(directory)
  const acts: ActRecord[] = []
  const reader = new JournalReader(path, ({ record }) => {
    if (record.kind === 'act') acts.push(record as unknown as ActRecord)
  })
  try {
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) reader.take(piece)
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return { acts: [], size: 0 }
    throw error
  }
  reader.end()
  return { acts, size: reader.size }
}

/**
 * Acts as they hold now. A resume that was given another value for an option than the one that it had, and that people had set before,
 * counts like an act: the later one of both holds.
 */
export function actsInForce(acts: readonly ActRecord[], changes: RunConfig['changes']): ActRecord[] {
  const given = changes.flatMap(({ time, key, to, since = 0 }): ActRecord[] => {
    const wasSet = acts.some(one => one.act.act === 'set' && one.act.option === key && one.time <= time)
    return wasSet && typeof to === 'number' ? [{ time, from: since, act: { act: 'set', option: key, value: to } }] : []
  })
  return given.length === 0 ? [...acts] : [...acts, ...given].sort((a, b) => Date.parse(a.time) - Date.parse(b.time))
}

/** For the process that owns the run. Calls of `add` wait for each other. */
export class ActLog {
  #file: AppendFile | undefined
  #queue: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly directory: string,
    private readonly size: number,
    /** Those that held when it was opened. */
    readonly before: readonly ActRecord[],
  ) {}

  static async open(directory: string): Promise<ActLog> {
    const { acts, size } = await readLines(directory)
    const config = acts.length === 0 ? undefined : await readConfig(runPaths(directory).config)
    return new ActLog(directory, size, actsInForce(acts, config?.changes ?? []))
  }

  /** On the disk when it resolves; a FileWriteError says that it is not. */
  add(act: ActRecord): Promise<void> {
    const added = this.#queue.then(async () => {
      const file = await this.#open()
      await file.appendDurably(encodeLine({ kind: 'act', ...act }))
    })
    this.#queue = added.catch(() => {})
    return added
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#file?.close()
  }

  /** Made with the first act: most runs have none. */
  async #open(): Promise<AppendFile> {
    if (this.#file) return this.#file
    const { journal } = runPaths(this.directory)
    const path = actPath(this.directory)
    await attributed(path, () => makeDirectory(journal))
    this.#file = await AppendFile.open(path, { size: this.size })
    await attributed(path, () => syncDirectory(journal))
    return this.#file
  }
}

const actPath = (directory: string): string => join(runPaths(directory).journal, 'acts.jsonl')
