/**
 * Flags and preferences that people give to samples, in `flags.jsonl` of the run: one line each, the last one of a sample counts. The run
 * does not read it.
 */
import { appendFile } from 'node:fs/promises'
import { LogTail, runPaths } from '../run/index.js'
import type { Flag, FlagRequest, FlagsAnswer, PairRequest } from './api.js'

type Line =
  | { readonly time: string; readonly flag: string; readonly label: Flag['label'] | null; readonly note?: string }
  | { readonly time: string; readonly pair: readonly [string, string]; readonly better: 'first' | 'second' | null }

export class Flags {
  readonly #flags = new Map<string, Flag>()
  readonly #pairs = new Map<string, { chosen: string; rejected: string; time: string }>()
  readonly #tail: LogTail
  readonly #path: string

  constructor(directory: string) {
    this.#path = runPaths(directory).flags
    this.#tail = new LogTail(this.#path)
  }

  /** By sample. */
  async all(): Promise<ReadonlyMap<string, Flag>> {
    await this.#tail.read({
      restart: () => {
        this.#flags.clear()
        this.#pairs.clear()
      },
      line: bytes => this.#take(bytes.toString()),
    })
    return this.#flags
  }

  async answer(): Promise<FlagsAnswer> {
    await this.all()
    return { flags: [...this.#flags].map(([id, flag]) => ({ id, ...flag })), pairs: [...this.#pairs.values()] }
  }

  async flag({ id, label, note = '' }: FlagRequest): Promise<void> {
    await this.#add({ time: new Date().toISOString(), flag: id, label, ...(note === '' ? {} : { note }) })
  }

  async prefer({ first, second, better }: PairRequest): Promise<void> {
    await this.#add({ time: new Date().toISOString(), pair: [first, second], better })
  }

  /** In one write: two dashboards over one run do not mix their lines. */
  async #add(line: Line): Promise<void> {
    await appendFile(this.#path, `${JSON.stringify(line)}\n`)
  }

  #take(text: string): void {
    const line = parsed(text)
    if (!line) return
    const { time } = line
    if ('flag' in line) {
      this.#flags.delete(line.flag)
      if (line.label !== null) this.#flags.set(line.flag, { label: line.label, note: line.note ?? '', time })
      return
    }
    const [first, second] = line.pair
    const key = [first, second].sort().join('\n')
    this.#pairs.delete(key)
    if (line.better === null) return
    const chosen = line.better === 'first' ? first : second
    this.#pairs.set(key, { chosen, rejected: chosen === first ? second : first, time })
  }
}

function parsed(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Record<string, unknown>
    const isFlag = typeof line.flag === 'string'
    const isPair = Array.isArray(line.pair) && line.pair.length === 2
    return isFlag || isPair ? (line as unknown as Line) : undefined
  } catch {
    return undefined
  }
}
