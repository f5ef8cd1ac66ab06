/** Read-only view of a run directory, for lists, plots and replays. Nothing is locked or written. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isHeld, type LockHolder, readLock } from '../files/index.js'
import { type Checkpoint, checkpointSteps, newestCheckpoint } from './checkpoints.js'
import { RunError } from './errors.js'
import type { Json } from './exact-json.js'
import { type RunConfig, readConfig } from './identity.js'
import { Journal } from './journal.js'
import { type JsonLines, type JsonObject, readJsonLines } from './json-lines.js'
import { logFiles, runPaths } from './paths.js'

/** `crashed`: its process died without an end event. */
export type RunStatus = 'running' | 'finished' | 'stopped' | 'failed' | 'crashed'

export interface MetricPoint {
  readonly step: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly value: number
}

export interface RunEvent {
  readonly time: string
  readonly kind: string
  readonly [field: string]: Json | undefined
}

export interface RunView {
  readonly directory: string
  readonly config: RunConfig
  readonly status: RunStatus
  /** Who has the run, where it is running. */
  readonly owner: LockHolder | undefined
  /** The last step (or iteration, where the trainer counts those) with a metric; that of the last checkpoint where there is none. */
  readonly step: number
  /** When something was last logged, in milliseconds since 1970. */
  readonly updated: number
  /** By name, ascending by step; the last line where a step has several. */
  readonly metrics: ReadonlyMap<string, readonly MetricPoint[]>
  readonly events: readonly RunEvent[]
  /** Lines of the logs that are not JSON, as `file:line`. They were left out. */
  readonly badLines: readonly string[]
  /** Steps that have a checkpoint directory. */
  readonly checkpoints: readonly number[]
  readonly journal: Pick<Journal, 'read' | 'iterations' | 'checkVersion'>
  latest(): Promise<Checkpoint | undefined>
}

export async function readRun(directory: string): Promise<RunView> {
  const paths = runPaths(directory)
  const config = await readConfig(paths.config)
  if (!config) throw new RunError(`${directory} is not a run: it has no config.json`)
  // The lock is read before the events: a run that ends in between has said so in them.
  const holder = await readLock(paths.lock)
  const owner = holder && isHeld(holder) ? holder : undefined
  const eventLines = await readJsonLines(join(paths.logs, logFiles.events))
  const events = eventLines.objects.filter(isEvent)
  const metricLines = await readJsonLines(join(paths.logs, logFiles.metrics))
  const metrics = metricsOf(metricLines)
  const checkpoints = await checkpointSteps(paths.checkpoints)
  const lastPoints = [...metrics.values()].map(points => points.at(-1)!)
  return {
    directory,
    config,
    owner,
    status: owner ? 'running' : ending(events),
    step: lastPoints.length > 0 ? Math.max(...lastPoints.map(({ step }) => step)) : (checkpoints.at(-1) ?? 0),
    updated: Math.max(
      Date.parse(events.at(-1)?.time ?? config.created),
      ...lastPoints.map(({ time }) => time),
      (await stat(paths.config)).mtimeMs,
    ),
    metrics,
    events,
    badLines: [
      ...eventLines.bad.map(line => `${join(paths.logs, logFiles.events)}:${line}`),
      ...metricLines.bad.map(line => `${join(paths.logs, logFiles.metrics)}:${line}`),
    ],
    checkpoints,
    journal: new Journal(paths.journal),
    latest: () => newestCheckpoint(paths.checkpoints),
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

/** Metrics by name. What has not the shape of one is left out. */
function metricsOf({ objects }: JsonLines): Map<string, MetricPoint[]> {
  const series = new Map<string, Map<number, MetricPoint>>()
  for (const line of objects) {
    const { step, time, values } = line as { step?: Json; time?: Json; values?: Json }
    if (typeof step !== 'number' || typeof time !== 'string') continue
    if (typeof values !== 'object' || values === null || Array.isArray(values)) continue
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'number' && typeof value !== 'string') continue
      if (!series.has(name)) series.set(name, new Map())
      series.get(name)!.set(step, { step, time: Date.parse(time), value: Number(value) })
    }
  }
  return new Map([...series].map(([name, points]) => [name, [...points.values()].sort((a, b) => a.step - b.step)]))
}
