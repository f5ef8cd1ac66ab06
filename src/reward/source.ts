import { RewardConfigError } from './errors.js'
import type { RewardInput } from './input.js'
import type { FailedReward, RewardScore } from './outcome.js'

/** The kinds a recipe names. */
export const sourceKinds = ['function', 'rule', 'model', 'remote'] as const
export type SourceKind = (typeof sourceKinds)[number]

export interface SourceLimits {
  /** Samples asked for in one call. */
  readonly batchSize: number
  /** Calls at a time. */
  readonly concurrency: number
  /** Milliseconds a call may take with all its retries; Infinity for none. */
  readonly deadlineMs: number
  /** Milliseconds one attempt of it may take. */
  readonly timeoutMs?: number
  /** How often a call that failed in a way that may pass is made again. */
  readonly retries: number
}

/** A number, a number with metrics, or why there is none for this sample alone. */
export type RewardAnswer = number | RewardScore | Omit<FailedReward, 'source'>

/**
 * Samples in, one answer for each out, in their order. Who asks a source takes care of batches, deadlines, retries, late
 * answers and wrong ones (see `SourceQueue`); a source only answers or throws, `SourceError` where it knows why.
 */
export interface RewardSource<Item = RewardInput> {
  /** Unique among the sources of an engine. */
  readonly name: string
  readonly kind: SourceKind
  readonly limits: SourceLimits
  /** The source text of the function it asks: what a run records of it. */
  readonly text?: string
  /** The local model it asks, where it asks one: it may have to wait for its turn on a device. */
  readonly model?: object
  /** Whether it compares with a target: a sample without one is a failure of it. */
  readonly needsTarget?: boolean
  /** Why samples of a row can never get a reward, such as a missing column. All rows are checked before generation. */
  readonly rowProblem?: (row: unknown) => string | undefined
  /**
   * Whether it runs in a process of its own: it gets copies in any case, and says when it has got to a call (`entered`), which is
   * when the call's time begins.
   */
  readonly isolated?: boolean
  /** `signal` aborts the call when its result is no longer needed. */
  score(
    items: readonly Item[],
    options: { signal: AbortSignal; entered?: (() => void) | undefined },
  ): Promise<ArrayLike<RewardAnswer>>
  close?(): Promise<void>
}

/** The limits of functions and remote rewards as options. */
export type LimitOptions = { readonly [K in keyof SourceLimits]?: SourceLimits[K] | undefined }

export const defaultLimits = {
  /** A function gets one sample per call: a slow or broken call does not affect others. */
  function: { batchSize: 1, concurrency: 32, deadlineMs: 120_000, retries: 0 },
  rule: { batchSize: 16, concurrency: 1, deadlineMs: 120_000, retries: 0 },
  batchFunction: { batchSize: Number.POSITIVE_INFINITY, concurrency: 1, deadlineMs: 120_000, retries: 0 },
  model: { batchSize: 256, concurrency: 1, deadlineMs: Number.POSITIVE_INFINITY, retries: 0 },
  remote: { batchSize: 64, concurrency: 8, deadlineMs: 120_000, timeoutMs: 60_000, retries: 5 },
} satisfies Record<string, SourceLimits>

/** The limits of a source: what was asked for over what is usual, checked. */
export function resolveLimits(source: string, usual: SourceLimits, given: LimitOptions): SourceLimits {
  const limits: SourceLimits = { ...usual }
  for (const key of ['batchSize', 'concurrency', 'deadlineMs', 'timeoutMs', 'retries'] as const) {
    const value = given[key]
    if (value === undefined) continue
    const least = key === 'retries' ? 0 : 1
    const whole = Number.isInteger(value) || (value === Number.POSITIVE_INFINITY && key !== 'retries')
    if (!whole || value < least)
      throw new RewardConfigError(
        `reward "${source}": ${key} should be a whole number of at least ${least}, got ${value}`,
      )
    Object.assign(limits, { [key]: value })
  }
  return limits
}
