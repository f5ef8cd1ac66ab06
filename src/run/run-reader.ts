/**
 * Reads a run directory again and again, each time only what is new: logs are tailed, metrics are kept as columns. The command line reads a
 * run once with it, the dashboard every second.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isHeld, readLock } from '../files/index.js'
import { checkpointSteps, newestCheckpoint, readCheckpoint } from './checkpoints.js'
import { RunError } from './errors.js'
import { type RunConfig, readConfig } from './identity.js'
import { Journal } from './journal.js'
import { type JsonObject, objectOf } from './json-lines.js'
import { LogTail, type TailReader } from './log-tail.js'
import type { ValueHistory } from './metric-history.js'
import { readMetricIndex, writeMetricIndex } from './metric-index.js'
import { MetricTable } from './metric-table.js'
import { logFiles, runPaths } from './paths.js'
import type { MetricPoint, RunEvent, RunStatus, RunView } from './run-view.js'

/** Lines that are parsed between two snapshots of the metrics. */
const snapshotEvery = 5000

/**
 * @example
 * const reader = new RunReader('runs/grpo')
 * const { status, metrics } = await reader.read()
 */
export class RunReader {
  readonly directory: string
  #table = new MetricTable()
  #metrics: LogTail
  readonly #events: LogTail
  #eventList: RunEvent[] = []
  #badMetrics: number[] = []
  #badEvents: number[] = []
  #config: { readonly mtimeMs: number; readonly size: number; readonly config: RunConfig } | undefined
  #opened = false
  #unsaved = 0
  /** Points as objects, until the log has more of them or the memory is needed. */
  #points = new Map<string, WeakRef<readonly MetricPoint[]>>()
  #reading: Promise<unknown> = Promise.resolve()

  constructor(
    directory: string,
    /** Without metrics: for a reader of samples alone, which are not to be in memory twice. */
    private readonly reads: { readonly metrics: boolean } = { metrics: true },
  ) {
    const { logs } = runPaths(directory)
    this.directory = directory
    this.#metrics = new LogTail(join(logs, logFiles.metrics))
    this.#events = new LogTail(join(logs, logFiles.events))
  }

  /** The metrics as columns, as of the last `read`. */
  get table(): MetricTable {
    return this.#table
  }

  /** The run as it is now. Calls wait for each other. */
  read(): Promise<RunView> {
    const reading = this.#reading.then(() => this.#read())
    this.#reading = reading.catch(() => {})
    return reading
  }

  async #read(): Promise<RunView> {
    const { directory } = this
    const paths = runPaths(directory)
    const config = await this.#readConfig(paths.config)
    // The lock is read before the events: a run that ends in between has said so in them.
    const holder = await readLock(paths.lock)
    const owner = holder && isHeld(holder) ? holder : undefined
    await this.#events.read(this.#eventReader)
    if (this.reads.metrics) await this.#readMetrics(owner === undefined ? 'over' : 'running')
    const checkpoints = await checkpointSteps(paths.checkpoints)
    const table = this.#table
    const events = this.#eventList
    const bad = (name: string, lines: readonly number[]): string[] =>
      lines.map(line => `${join(paths.logs, name)}:${line}`)
    return {
      directory,
      config,
      owner,
      status: owner ? 'running' : ending(events),
      step: table.lastStep ?? checkpoints.at(-1) ?? 0,
      updated: Math.max(
        Date.parse(events.at(-1)?.time ?? config.created),
        table.lastTime ?? 0,
        this.#config?.mtimeMs ?? 0,
      ),
      metrics: new MetricMap(
        table.names,
        name => this.#pointsOf(name),
        name => Array.from(table.values(name)),
      ),
      events: [...events],
      badLines: [...bad(logFiles.events, this.#badEvents), ...bad(logFiles.metrics, this.#badMetrics)],
      checkpoints,
      journal: new Journal(paths.journal),
      latest: () => newestCheckpoint(paths.checkpoints),
      checkpoint: async step => {
        const found = await readCheckpoint(paths.checkpoints, step, 'sizes')
        return found.kind === 'complete' ? found.checkpoint : undefined
      },
    }
  }

  /** Parsed again only where the file has changed. */
  async #readConfig(path: string): Promise<RunConfig> {
    const found = await stat(path).catch(() => undefined)
    const known = this.#config
    if (found && known?.mtimeMs === found.mtimeMs && known.size === found.size) return known.config
    const config = await readConfig(path)
    if (!config) throw new RunError(`${this.directory} is not a run: it has no config.json`)
    this.#config = { mtimeMs: found?.mtimeMs ?? 0, size: found?.size ?? 0, config }
    return config
  }

  async #readMetrics(run: 'running' | 'over'): Promise<void> {
    if (!this.#opened) {
      this.#opened = true
      await this.#takeIndex()
    }
    const changed = await this.#metrics.read(this.#metricReader)
    if (changed) this.#points = new Map()
    if (this.#unsaved < snapshotEvery) return
    this.#unsaved = 0
    const index = { table: this.#table, mark: this.#metrics.mark, bad: this.#badMetrics }
    const isWritten = await writeMetricIndex(this.directory, index)
    // Its columns are in the file now. A run that goes on adds to all of them, and keeps them in memory.
    if (isWritten && run === 'over') await this.#takeIndex()
  }

  async #takeIndex(): Promise<void> {
    const known = await readMetricIndex(this.directory)
    if (!known) return
    this.#table = known.table
    this.#badMetrics = [...known.bad]
    this.#metrics = new LogTail(this.#metrics.path, known.mark)
  }

  #pointsOf(name: string): readonly MetricPoint[] {
    const known = this.#points.get(name)?.deref()
    if (known) return known
    const points = this.#table.points(name)
    this.#points.set(name, new WeakRef(points))
    return points
  }

  readonly #metricReader: TailReader = {
    restart: () => {
      this.#table.clear()
      this.#badMetrics = []
      this.#unsaved = 0
    },
    line: (bytes, line) => {
      const object = objectOf(bytes.toString())
      if (object) this.#table.add(object)
      else this.#badMetrics.push(line)
      this.#unsaved++
    },
  }

  readonly #eventReader: TailReader = {
    restart: () => {
      this.#eventList = []
      this.#badEvents = []
    },
    line: (bytes, line) => {
      const object = objectOf(bytes.toString())
      if (!object) this.#badEvents.push(line)
      else if (isEvent(object)) this.#eventList.push(object)
    },
  }
}

/** Metrics by name, whose points are made when they are asked for. */
class MetricMap implements ReadonlyMap<string, readonly MetricPoint[]>, ValueHistory {
  readonly #names: ReadonlySet<string>

  constructor(
    names: readonly string[],
    private readonly pointsOf: (name: string) => readonly MetricPoint[],
    readonly valuesOf: (name: string) => readonly number[],
  ) {
    this.#names = new Set(names)
  }

  get size(): number {
    return this.#names.size
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  get(name: string): readonly MetricPoint[] | undefined {
    return this.has(name) ? this.pointsOf(name) : undefined
  }

  keys(): SetIterator<string> {
    return this.#names.values()
  }

  *values(): MapIterator<readonly MetricPoint[]> {
    for (const name of this.#names) yield this.pointsOf(name)
    return undefined
  }

  *entries(): MapIterator<[string, readonly MetricPoint[]]> {
    for (const name of this.#names) yield [name, this.pointsOf(name)]
    return undefined
  }

  forEach(each: (points: readonly MetricPoint[], name: string, map: this) => void): void {
    for (const [name, points] of this) each(points, name, this)
  }

  [Symbol.iterator](): MapIterator<[string, readonly MetricPoint[]]> {
    return this.entries()
  }
}

function isEvent(line: JsonObject): line is JsonObject & RunEvent {
  return typeof line.kind === 'string' && !Number.isNaN(Date.parse(String(line.time)))
}

function ending(events: readonly RunEvent[]): RunStatus {
  const last = events.findLast(({ kind }) => ['started', 'resumed', 'finished', 'stopped', 'failed'].includes(kind))
  const kind = last?.kind
  return kind === 'finished' || kind === 'stopped' || kind === 'failed' ? kind : 'crashed'
}
