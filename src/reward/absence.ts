/** Decides whether a remote source is away, and how long to wait for it. */
import type { SourceError } from './errors.js'
import type { AwayEvent } from './source-queue.js'

interface AbsenceOptions {
  readonly source: string
  /** Milliseconds it may be away; 0: it is not waited for. */
  readonly patienceMs: number
  readonly onAway: ((event: AwayEvent) => void) | undefined
}

/** A server that answered other calls this recently is available: then a 500 is about its samples. */
const recentMs = 60_000

export class Absence {
  private since: number | undefined
  private lastAnswer = Number.NEGATIVE_INFINITY

  constructor(
    private readonly options: AbsenceOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** It answered something. */
  answered(): void {
    this.lastAnswer = this.now()
    if (this.since === undefined) return
    const seconds = Math.round((this.now() - this.since) / 1000)
    this.since = undefined
    const { source } = this.options
    this.tell('back', `reward "${source}" answers again after ${seconds} s`)
  }

  /** How long to wait before the next call, after a call that started at `started` failed; undefined: the failure is final. */
  pauseAfter(error: SourceError, started: number): number | undefined {
    const { patienceMs, source } = this.options
    if (patienceMs === 0 || (error.repeat !== 'retryable' && error.reason !== 'timeout')) return undefined
    const answeredSince = error.reason === 'server-error' ? started - recentMs : started
    if (this.lastAnswer >= answeredSince) return undefined
    const now = this.now()
    if (this.since === undefined) {
      this.since = now
      const minutes = Number((patienceMs / 60_000).toPrecision(3))
      this.tell('waiting', `reward "${source}": ${error.message}. Waiting up to ${minutes} minutes.`)
    }
    const left = this.since + patienceMs - now
    return left <= 0 ? undefined : Math.min(left, Math.max(20, Math.min(15_000, patienceMs / 20)))
  }

  private tell(what: AwayEvent['what'], message: string): void {
    this.options.onAway?.({ source: this.options.source, what, message })
  }
}
