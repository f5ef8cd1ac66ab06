/** Read-only view of a run directory, for lists, plots, replays and the dashboard. Nothing is locked. */
import type { LockHolder } from '../files/index.js'
import type { Checkpoint } from './checkpoints.js'
import type { Json } from './exact-json.js'
import type { RunConfig } from './identity.js'
import type { Journal } from './journal.js'

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
  /** Undefined where there is none of this step, or only a part of one. */
  checkpoint(step: number): Promise<Checkpoint | undefined>
}
