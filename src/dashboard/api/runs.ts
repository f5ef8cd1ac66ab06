/** Runs as the server tells of them, and the session of a page. Types of `../api.ts`. */

// ---- session

/** The token that the command printed; the page finds it behind the `#` of its address, which no server sees or logs. */
export interface LoginRequest {
  readonly token: string
}

export interface Session {
  readonly version: string
  /** The directory that the command was given. */
  readonly runsDirectory: string
}

// ---- runs

/** `crashed`: its process died without saying so. */
export type RunStatusName = 'running' | 'finished' | 'stopped' | 'failed' | 'crashed'

export interface RunSummary {
  /** Names the run in every other route. */
  readonly name: string
  readonly command: 'sft' | 'reward' | 'rl' | 'preference'
  /** Such as `grpo`, `dpo`, `sft`. */
  readonly kind: string
  readonly status: RunStatusName
  /** It was stopped, failed or crashed: `--resume` goes on with it. */
  readonly resumable: boolean
  /** Whether acts reach the run now; without, everything is read only. */
  readonly listening: boolean
  /** The last step, or iteration where the run counts those. */
  readonly step: number
  /** All there will be; null where it is not known. */
  readonly steps: number | null
  /** Milliseconds since 1970. */
  readonly created: number
  readonly updated: number
  /** How well it did: its last reward, accuracy or loss, and the best of it. */
  readonly headline: {
    readonly metric: string
    readonly last: number
    readonly best: number
    readonly text: string
  } | null
  /** Last values of the main metrics, by name. */
  readonly main: Readonly<Record<string, number>>
  /** Alerts that hold now. */
  readonly alerts: number
  /** Options in which the runs of the list differ, with this run's value as text. */
  readonly differences: Readonly<Record<string, string>>
}

export interface RunsAnswer {
  readonly runs: readonly RunSummary[]
  /** Directories that look like runs and cannot be read, and why. */
  readonly unreadable: readonly { readonly name: string; readonly error: string }[]
}

export interface RunDetail extends RunSummary {
  /** Resolved: every option with its value. */
  readonly config: unknown
  /** Where each value came from, by dotted key. */
  readonly origins: Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, string>>
  /** What resumes and acts have changed since, in order. */
  readonly changes: readonly {
    readonly time: string
    readonly key: string
    readonly from: unknown
    readonly to: unknown
    readonly since?: number
  }[]
  /** Steps that have a checkpoint. */
  readonly checkpoints: readonly number[]
  readonly markers: readonly Marker[]
  /** The last events, oldest first. */
  readonly events: readonly { readonly time: string; readonly kind: string; readonly [field: string]: unknown }[]
  /** How far the index of the samples is. */
  readonly index: IndexProgress
}

/** What a chart marks at a step. */
export interface Marker {
  readonly kind: 'checkpoint' | 'resumed' | 'evaluation' | 'act' | 'warning'
  readonly step: number
  readonly time: number
  readonly text: string
}

export interface IndexProgress {
  /** `none`: the run has no journal. */
  readonly state: 'none' | 'building' | 'ready'
  readonly samples: number
  /** Bytes of the journal that are indexed, and that there are. */
  readonly doneBytes: number
  readonly totalBytes: number
  readonly samplesPerSecond: number | null
  /** What of the journal cannot be read. */
  readonly problem: string | null
}
