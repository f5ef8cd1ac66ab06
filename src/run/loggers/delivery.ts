/**
 * Sends what a run logs to one logger, beside the training and never in its way: it reads the run's own log files behind the
 * training, remembers how far it came, and tries again later where the logger fails.
 */
import type { Json } from '../exact-json.js'
import type { RunConfig } from '../identity.js'
import { type Cursor, readCursor, writeCursor } from './cursor.js'
import { type LogEntries, readEntries, type Sizes, wholeSteps } from './log-entries.js'
import { type Logger, type LoggerCall, loggedRun, type RunEnd } from './logger.js'

/** Times in milliseconds. */
export interface DeliveryTimes {
  /** Between looks for new lines. */
  readonly look: number
  /** Of one call of a logger. */
  readonly call: number
  /** Between attempts: the first, doubled up to the last. */
  readonly retry: readonly [first: number, last: number]
  /** At the end of a run, for what is left. */
  readonly end: number
  /** The same where the logger failed, or has not answered a call for `slow`. */
  readonly endFailing: number
  readonly slow: number
}

const usualTimes: DeliveryTimes = {
  look: 500,
  call: 120_000,
  retry: [1000, 60_000],
  end: 10_000,
  endFailing: 1000,
  slow: 2000,
}

interface DeliveryOptions {
  readonly directory: string
  readonly config: RunConfig
  readonly logger: Logger
  /** Bytes of whole lines in each log file. */
  readonly sizes: () => Sizes
  /** Told once that the logger fails, in words. */
  readonly onFailure: (message: string) => void
  readonly times?: Partial<DeliveryTimes>
}

const kinds = ['metrics', 'samples', 'events'] as const

export class LogDelivery {
  readonly logger: Logger
  readonly #options: DeliveryOptions
  readonly #times: DeliveryTimes
  readonly #from: number | undefined
  #cursor: Cursor
  /** Whether `start` was called in this process. */
  #started = false
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined
  #failures = 0
  /** Of the last attempt; undefined where it succeeded. */
  #problem: string | undefined
  #isReported = false
  /** When the call that is under way began; undefined between calls. */
  #callSince: number | undefined
  /** Aborts calls when nothing waits for them any more. */
  readonly #over = new AbortController()

  private constructor(options: DeliveryOptions, cursor: Cursor, from: number | undefined) {
    this.logger = options.logger
    this.#options = options
    this.#times = { ...usualTimes, ...options.times }
    this.#cursor = cursor
    this.#from = from
  }

  /** Goes on where the logger was; the logs are as they are after a resume cut them. Nothing is sent before `begin`. */
  static async open(options: DeliveryOptions): Promise<LogDelivery> {
    const { directory, logger, sizes } = options
    const known = await readCursor(directory, logger.name)
    if (!known.started) return new LogDelivery(options, known, undefined)
    const { from, at } = await wholeSteps(directory, known.sent, sizes())
    const cursor = { ...known, sent: at }
    // Now: lines that a resumed run writes next lie where others did that were sent.
    await writeCursor(directory, logger.name, cursor)
    return new LogDelivery(options, cursor, from)
  }

  /** Looks for new lines from now on. */
  begin(): void {
    this.#later(0)
  }

  /** Whether the logger has everything that was logged, and knows that the run has ended. */
  get isDone(): boolean {
    return this.#cursor.ended && this.#hasAll
  }

  get #hasAll(): boolean {
    const sizes = this.#options.sizes()
    return kinds.every(kind => this.#cursor.sent[kind] >= sizes[kind])
  }

  /**
   * Sends the rest and tells the logger of the end, for a bounded time. Resolves to why something is left; undefined where nothing
   * is.
   */
  async finish(end: RunEnd, wait?: number): Promise<string | undefined> {
    clearTimeout(this.#timer)
    const { end: usual, endFailing, slow } = this.#times
    const isSlow = performance.now() - (this.#callSince ?? Number.POSITIVE_INFINITY) > slow
    const bound = this.#failures > 0 || isSlow ? endFailing : usual
    let deadline: NodeJS.Timeout | undefined
    const late = new Promise<'late'>(resolve => {
      deadline = setTimeout(() => resolve('late'), wait ?? bound)
    })
    const told = async (): Promise<void> => {
      await this.#working?.catch(() => {})
      clearTimeout(this.#timer)
      await this.#sendAll()
      await this.#call('end', call => this.logger.end?.(end, call))
      await this.#move({ ended: true })
    }
    try {
      const outcome = await Promise.race([told(), late])
      return outcome === 'late' ? (this.#problem ?? 'it did not answer in time') : undefined
    } catch (error) {
      return reason(error)
    } finally {
      clearTimeout(deadline)
      this.#over.abort()
    }
  }

  /** Unreferenced: a process that has nothing else to do ends by `finish`, not by this timer. */
  #later(milliseconds: number): void {
    if (this.#over.signal.aborted) return
    this.#timer = setTimeout(() => {
      this.#working = this.#round()
    }, milliseconds).unref()
  }

  async #round(): Promise<void> {
    const [first, last] = this.#times.retry
    try {
      if (!this.#started || !this.#hasAll) await this.#sendAll()
      this.#failures = 0
      this.#problem = undefined
      this.#later(this.#times.look)
    } catch (error) {
      if (this.#over.signal.aborted) return
      this.#problem = reason(error)
      if (!this.#isReported) this.#options.onFailure(this.#problem)
      this.#isReported = true
      this.#later(Math.min(last, first * 2 ** this.#failures))
      this.#failures++
    }
  }

  async #sendAll(): Promise<void> {
    if (!this.#started) {
      const run = loggedRun(this.#options.directory, this.#options.config, {
        kept: this.#cursor.kept,
        from: this.#from,
      })
      const returned = await this.#call('start', call => this.logger.start?.(run, call))
      const kept = returned === undefined ? {} : { kept: plain(returned) }
      await this.#move({ started: true, ended: false, ...kept })
      this.#started = true
    }
    for (let moved = true; moved; ) {
      moved = false
      for (const kind of kinds) if (await this.#sendPiece(kind)) moved = true
    }
  }

  /** Whether there was something. */
  async #sendPiece<K extends keyof LogEntries>(kind: K): Promise<boolean> {
    const { directory, sizes } = this.#options
    const from = this.#cursor.sent[kind]
    const { entries, end } = await readEntries(kind, directory, { from, to: sizes()[kind] })
    if (end === from) return false
    if (entries.length > 0) await this.#send(kind, entries)
    await this.#move({ sent: { ...this.#cursor.sent, [kind]: end } })
    return true
  }

  async #send(kind: keyof LogEntries, entries: readonly LogEntries[keyof LogEntries][]): Promise<void> {
    const { logger } = this
    if (kind === 'metrics')
      await this.#call('metrics', call => logger.metrics?.(entries as readonly LogEntries['metrics'][], call))
    else if (kind === 'samples')
      await this.#call('samples', call => logger.samples?.(entries as readonly LogEntries['samples'][], call))
    else
      for (const artifact of entries as readonly LogEntries['events'][])
        await this.#call('artifact', call => logger.artifact?.(artifact, call))
  }

  async #move(change: Partial<Cursor>): Promise<void> {
    const next = { ...this.#cursor, ...change }
    await writeCursor(this.#options.directory, this.logger.name, next)
    this.#cursor = next
  }

  /** One call, with an end: a promise that never resolves counts as a failure. */
  async #call(what: string, call: (call: LoggerCall) => unknown): Promise<unknown> {
    this.#over.signal.throwIfAborted()
    const controller = new AbortController()
    this.#callSince = performance.now()
    let stop: (() => void) | undefined
    const late = new Promise<never>((_, reject) => {
      const seconds = this.#times.call / 1000
      const timer = setTimeout(() => reject(new Error(`no answer in ${seconds} s`)), this.#times.call)
      const over = (): void => reject(new Error('the run has ended'))
      this.#over.signal.addEventListener('abort', over, { once: true })
      stop = () => {
        clearTimeout(timer)
        this.#over.signal.removeEventListener('abort', over)
      }
    })
    try {
      return await Promise.race([(async () => call({ signal: controller.signal }))(), late])
    } catch (error) {
      throw new Error(`${what}: ${reason(error)}`, { cause: error })
    } finally {
      stop!()
      this.#callSince = undefined
      controller.abort()
    }
  }
}

/** As it is in the file. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value) ?? 'null') as Json

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0] || 'an error without a message'
}
