/** The runs of a directory: each has one reader, which reads only what is new. */
import { basename, join, resolve } from 'node:path'
import { findRuns, isRun, RunReader, type RunView } from '../run/index.js'
import { RequestError } from './errors.js'

export interface WatchedRun {
  readonly name: string
  readonly directory: string
  readonly reader: RunReader
  readonly view: RunView
  /** What was made of the logs, until they say more: a long log is not gone through for every question. */
  readonly derived: <T>(name: string, make: () => T) => T
}

interface Known {
  readonly reader: RunReader
  view: RunView | undefined
  readAt: number
  derived: { readonly of: string; readonly values: Map<string, unknown> }
}

/** A view is this old at most when it is shown. */
const freshMs = 500
/** In lists of runs, new runs show this late, and so do those that were over and are resumed: a directory may have a thousand runs. */
const listedMs = 3000
/** Readers hold the metrics of their runs as columns. */
const mostReaders = 1024

export class RunCatalog {
  readonly directory: string
  readonly #runs = new Map<string, Known>()
  #listing: { readonly at: number; readonly names: Promise<readonly string[]> } | undefined

  constructor(directory: string) {
    this.directory = resolve(directory)
  }

  /** Names of the runs: their paths from the directory, which may be a run itself. */
  async names(ageMs = freshMs): Promise<readonly string[]> {
    const known = this.#listing
    if (known && Date.now() - known.at < ageMs) return known.names
    const names = this.#list()
    this.#listing = { at: Date.now(), names }
    const there = new Set(await names)
    for (const name of this.#runs.keys()) if (!there.has(name)) this.#runs.delete(name)
    return names
  }

  /** Every run, and those that cannot be read. */
  async all(): Promise<{ runs: WatchedRun[]; unreadable: { name: string; error: string }[] }> {
    const runs: WatchedRun[] = []
    const unreadable: { name: string; error: string }[] = []
    for (const name of await this.names(listedMs))
      try {
        const isOver = (this.#runs.get(name)?.view?.status ?? 'running') !== 'running'
        runs.push(await this.#read(name, isOver ? listedMs : freshMs))
      } catch (error) {
        unreadable.push({ name, error: error instanceof Error ? error.message : String(error) })
      }
    return { runs, unreadable }
  }

  /** Only names of the list: no path of a request ever reaches the file system. */
  async run(name: string, ageMs = freshMs): Promise<WatchedRun> {
    const isListed = async (listMs: number) => (await this.names(listMs)).includes(name)
    if (!(await isListed(ageMs === 0 ? 0 : listedMs)) && !(await isListed(ageMs)))
      throw new RequestError(404, `there is no run ${JSON.stringify(name.slice(0, 200))}`)
    return this.#read(name, ageMs)
  }

  async #read(name: string, ageMs: number): Promise<WatchedRun> {
    const directory = this.#pathOf(name)
    const known = this.#runs.get(name) ?? {
      reader: new RunReader(directory),
      view: undefined,
      readAt: 0,
      derived: { of: '', values: new Map<string, unknown>() },
    }
    // All runs are asked for in turns: without the last one, the others need not be read again.
    const last = [...this.#runs.keys()].at(-1)
    if (!this.#runs.has(name) && last !== undefined && this.#runs.size >= mostReaders) this.#runs.delete(last)
    this.#runs.set(name, known)
    if (!known.view || Date.now() - known.readAt >= ageMs) {
      known.view = await known.reader.read()
      known.readAt = Date.now()
    }
    const { status, step, events } = known.view
    const of = `${status} ${step} ${events.length} ${known.reader.table.rows}`
    if (known.derived.of !== of) known.derived = { of, values: new Map() }
    const { values } = known.derived
    const derived = <T>(what: string, make: () => T): T => {
      if (!values.has(what)) values.set(what, make())
      return values.get(what) as T
    }
    return { name, directory, reader: known.reader, view: known.view, derived }
  }

  /** As it is at this moment: whether an act reaches a run is not told from what was seen before. */
  runNow(name: string): Promise<WatchedRun> {
    return this.run(name, 0)
  }

  #pathOf(name: string): string {
    return name === basename(this.directory) && this.#isItself ? this.directory : join(this.directory, name)
  }

  #isItself = false

  async #list(): Promise<readonly string[]> {
    this.#isItself = await isRun(this.directory)
    if (this.#isItself) return [basename(this.directory)]
    return findRuns(this.directory).catch(() => [])
  }
}
