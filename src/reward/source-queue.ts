/**
 * Calls one source: batches samples that have arrived, limits concurrent calls, and enforces deadlines. Whatever a source does,
 * every sample gets exactly one outcome.
 */
import { onAbort } from '../errors/index.js'
import { cpuTimer, Watch } from '../watchdog/index.js'
import { Absence } from './absence.js'
import { checkAnswers } from './check-answers.js'
import { SourceError } from './errors.js'
import type { FailedReward, SourceOutcome } from './outcome.js'
import { type Random, retryDelay } from './retry-delay.js'
import type { RewardSource, SourceLimits } from './source.js'

export interface SourceCounts {
  /** Attempts made, each for a batch of samples. */
  calls: number
  /** Of those, attempts after a failure. */
  retries: number
  samples: number
  failures: number
  /** Samples whose answer came after its deadline. */
  late: number
  /** The time calls took together. */
  seconds: number
}

export interface QueueEvents {
  /** An answer for so many samples came after its deadline and was not used. */
  onLate?: (event: { source: string; samples: number; lateMs: number }) => void
  /** A call held the event loop so long; said once per source. */
  onBlocked?: (event: { source: string; blockedMs: number }) => void
  /** A remote source does not answer and the engine waits for it (`patienceMinutes`), or it is back. */
  onAway?: (event: AwayEvent) => void
}

export interface AwayEvent {
  readonly source: string
  readonly what: 'waiting' | 'back'
  readonly message: string
}

export interface QueueOptions extends QueueEvents {
  /** A call that holds the event loop longer is reported. */
  blockedMs: number
  random: Random
  /** Milliseconds a remote source may be away before what is asked of it fails. */
  patienceMs: number
}

interface SourceQueueOptions<Item> extends QueueOptions {
  /** What a call gets of an item. Default: the item itself. */
  copy?: (item: Item) => Item
}

interface Entry<Item> {
  item: Item
  settled: boolean
  settle: (outcome: SourceOutcome) => void
  /** Told when its caller does not want it any more. */
  abandon?: () => void
}

/** While work that does not wait follows work that does not wait, the event loop gets its turn this often. */
const turnMs = 8
const longestTimer = 2 ** 31 - 1
/** What holds the process no longer than this is only late. */
const leastHoldMs = 10_000

export class SourceQueue<Item> {
  readonly counts: SourceCounts = { calls: 0, retries: 0, samples: 0, failures: 0, late: 0, seconds: 0 }
  private readonly waiting: Entry<Item>[] = []
  private running = 0
  private scheduled = false
  private blockReported = false
  private turnStarted = 0
  private readonly absence: Absence
  private readonly watch: Watch | undefined

  constructor(
    readonly source: RewardSource<Item>,
    private readonly options: SourceQueueOptions<Item>,
  ) {
    const { name, kind, limits, isolated = false } = source
    // The function is code of the user: it may never return.
    const holdMs = Math.max(limits.deadlineMs, leastHoldMs)
    this.watch = kind === 'function' && !isolated ? new Watch(`reward "${name}"`, holdMs) : undefined
    const { patienceMs, onAway } = options
    this.absence = new Absence({ source: source.name, patienceMs: source.kind === 'remote' ? patienceMs : 0, onAway })
  }

  /** The outcome of an item, as soon as it is there: `aborted` where the signal aborts first. */
  submit(item: Item, signal?: AbortSignal): Promise<SourceOutcome> {
    this.counts.samples++
    return new Promise(resolve => {
      let stopListening = () => {}
      const entry: Entry<Item> = {
        item,
        settled: false,
        settle: outcome => {
          if (entry.settled) return
          entry.settled = true
          stopListening()
          if (outcome.kind === 'failed') this.counts.failures++
          resolve(outcome)
        },
      }
      const abort = () => {
        entry.settle(this.failure(abandoned))
        entry.abandon?.()
      }
      if (signal?.aborted) {
        abort()
        return
      }
      if (signal) stopListening = onAbort(signal, abort)
      this.waiting.push(entry)
      this.schedule()
    })
  }

  /** In a turn of its own: what arrives in this one goes out in one batch, and others get to run. */
  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.turnStarted = performance.now()
      this.dispatch()
    })
  }

  private dispatch(): void {
    const { batchSize, concurrency } = this.source.limits
    while (this.running < concurrency && this.waiting.length > 0) {
      if (performance.now() - this.turnStarted > turnMs) {
        this.schedule()
        return
      }
      const batch: Entry<Item>[] = []
      while (batch.length < batchSize && this.waiting.length > 0) {
        const entry = this.waiting.shift()!
        if (!entry.settled) batch.push(entry)
      }
      if (batch.length === 0) return
      this.running++
      void this.run(batch).finally(() => {
        this.running--
        this.dispatch()
      })
    }
  }

  private async run(batch: readonly Entry<Item>[]): Promise<void> {
    const { deadlineMs, retries } = this.source.limits
    const began = performance.now()
    let started = began
    for (let attempt = 1; ; attempt++) {
      const left = started + deadlineMs - performance.now()
      try {
        const answers = await this.attempt(batch, left)
        this.absence.answered()
        const outcomes = checkAnswers(this.source.name, batch.length, answers)
        for (const [i, entry] of batch.entries()) entry.settle(outcomes[i]!)
        break
      } catch (error) {
        const cause = attributed(error)
        const delay = retryDelay(attempt, cause.retryAfterMs, this.options.random)
        const remaining = started + deadlineMs - performance.now()
        const again = cause.repeat === 'retryable' && attempt <= retries && delay < remaining
        if (again && (await wait(batch, delay)) === 'wanted') {
          this.counts.retries++
          continue
        }
        const pause = this.absence.pauseAfter(cause, started)
        if (pause !== undefined && (await wait(batch, pause)) === 'wanted') {
          // The next look at it is one attempt, with a deadline of its own.
          attempt = Math.max(attempt, retries)
          started = performance.now()
          continue
        }
        // One sample lacks something: the others need not suffer for it.
        if (cause.reason === 'input' && batch.length > 1) for (const entry of batch) await this.run([entry])
        const failure = this.failure(cause, attempt)
        for (const entry of batch) entry.settle(failure)
        break
      }
    }
    this.counts.seconds += (performance.now() - began) / 1000
  }

  /** One call. It is abandoned at its deadline, or when no caller waits for its answers; later answers count as late. */
  private attempt(batch: readonly Entry<Item>[], leftMs: number): Promise<unknown> {
    const { name, limits, isolated = false } = this.source
    const limit = Math.min(limits.timeoutMs ?? Number.POSITIVE_INFINITY, leftMs)
    const option = limit < leftMs ? 'timeoutMs' : 'deadlineMs'
    const context = new CallContext()
    const used = cpuTimer()
    let started = performance.now()
    let timer: NodeJS.Timeout | undefined
    let release = (): void => {}
    this.counts.calls++
    return new Promise((resolve, reject) => {
      let over = false
      const end = (settle: () => void) => {
        if (over) return
        over = true
        clearTimeout(timer)
        release()
        settle()
      }
      const giveUp = (error: SourceError) => {
        end(() => reject(error))
        context.abort(error)
      }
      const startClock = (): void => {
        started = performance.now()
        if (limit <= longestTimer && !over)
          timer = setTimeout(() => giveUp(timedOut(option, limits)), Math.max(0, limit))
      }
      // A call that waits behind others in a process of its own has all its time when the process gets to it.
      if (isolated) context.entered = startClock
      else startClock()
      // A caller that was aborted must not leave a request running behind it.
      onAbandoned(batch, () => over || giveUp(abandoned))
      const answered = (answers: unknown) => {
        const lateMs = performance.now() - started - limit
        end(() => (lateMs > 0 ? reject(tooLate(option, limits)) : resolve(answers)))
        if (lateMs <= 0) return
        this.counts.late += batch.length
        this.options.onLate?.({ source: name, samples: batch.length, lateMs })
      }
      try {
        const { copy = (item: Item) => item } = this.options
        const items = batch.map(entry => copy(entry.item))
        const ask = (): Promise<unknown> => Promise.resolve(this.source.score(items, context))
        const watched = this.watch?.call(ask)
        const answer = watched ? watched.answer : ask()
        if (watched) release = watched.release
        this.reportBlocking(used())
        answer.then(answered, error => end(() => reject(error as Error)))
      } catch (error) {
        this.reportBlocking(used())
        end(() => reject(error as Error))
      }
    })
  }

  /** `blockedMs` is processor time: a busy machine makes every call long. */
  private reportBlocking(blockedMs: number): void {
    // What a reward does in a process of its own holds nothing here: a busy machine does.
    if (this.source.isolated || blockedMs <= this.options.blockedMs || this.blockReported) return
    this.blockReported = true
    this.options.onBlocked?.({ source: this.source.name, blockedMs })
  }

  private failure(error: SourceError, attempts = 1): FailedReward {
    const times = attempts > 1 ? ` (tried ${attempts} times)` : ''
    return { kind: 'failed', reason: error.reason, message: `${error.message}${times}`, source: this.source.name }
  }
}

/** Its signal is made when a source first asks for it: most rewards are over before one would be of use, and it is costly. */
class CallContext {
  /** Called by a source whose calls wait before they begin, when this one begins. */
  entered: (() => void) | undefined
  private controller: AbortController | undefined
  private aborted: { reason: unknown } | undefined

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    if (this.aborted) this.controller.abort(this.aborted.reason)
    return this.controller.signal
  }

  abort(reason: unknown): void {
    this.aborted = { reason }
    this.controller?.abort(reason)
  }
}

const slower = (option: TimeLimit): string => `Raise ${option}, or make the reward faster.`

const abandoned = new SourceError('aborted', 'not wanted any more')

/** Calls back once no caller waits for any of them. */
function onAbandoned<Item>(batch: readonly Entry<Item>[], callback: () => void): void {
  const check = () => {
    // They are given up in their order: the last tells most.
    if (batch.at(-1)!.settled && batch.every(entry => entry.settled)) callback()
  }
  for (const entry of batch) entry.abandon = check
}

function wait<Item>(batch: readonly Entry<Item>[], ms: number): Promise<'wanted' | 'abandoned'> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve('wanted'), ms)
    onAbandoned(batch, () => {
      clearTimeout(timer)
      resolve('abandoned')
    })
  })
}

/** The option that ended a call: one attempt has `timeoutMs`, all attempts together `deadlineMs`. */
type TimeLimit = 'timeoutMs' | 'deadlineMs'

/** After `timeoutMs` the next attempt may go better. */
function timedOut(option: TimeLimit, limits: SourceLimits): SourceError {
  const message = `no answer within ${seconds(limits[option]!)} (${option}). ${slower(option)}`
  return new SourceError('timeout', message, { repeat: option === 'timeoutMs' ? 'retryable' : 'final' })
}

function tooLate(option: TimeLimit, limits: SourceLimits): SourceError {
  const message = `the answer came after ${seconds(limits[option]!)} (${option}) and is not used. ${slower(option)}`
  return new SourceError('late', message)
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toPrecision(3))} s`
}

function attributed(error: unknown): SourceError {
  if (error instanceof SourceError) return error
  const message = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`
  return new SourceError('threw', message, { cause: error })
}
