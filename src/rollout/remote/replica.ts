/**
 * One of the servers that share the work, and its state machine: `down` (gets no work), `trial` (gets one request), `up`. Its fields are
 * readonly: only the methods of this class change them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyVersion } from '../../model/index.js'
import type { Dialect, ServerFacts } from './dialect.js'
import type { EngineClient } from './engine-client.js'
import type { EngineEvent } from './options.js'
import type { CancelReason, RunningAttempt } from './running-attempt.js'

const firstPauseMs = 1000
const longestPauseMs = 30_000
const longestBackOffMs = 60_000
/** A stream that is silent for `quietMs` has delivered everything; the wait for that ends after `quietDeadlineMs`. */
const quietMs = 100
const quietDeadlineMs = 2000
/** How long an aborted request may take to end, and when the abort is repeated. */
const abortPatienceMs = 2000
const abortAgainMs = 100

interface ReplicaOptions {
  readonly dialect: Dialect
  readonly maxInFlight: number
  readonly onEvent: (event: EngineEvent) => void
}

export class Replica {
  readonly state: 'up' | 'trial' | 'down' = 'down'
  readonly downReason: string = 'not connected yet'
  /** Not before the server is connected. */
  readonly facts!: ServerFacts
  /** The check under way: whether the server answers, and which weights it has. */
  readonly checking: Promise<void> | undefined
  /** It was put to sleep and not woken since. */
  readonly isAsleep: boolean = false
  /** Time per token of a response, smoothed over requests. */
  readonly msPerToken: number | undefined

  /** Version of its weights; undefined: unknown, or weights that must not be used. */
  readonly version: PolicyVersion | undefined
  /** The loaded adapter that new requests name. */
  readonly adapter: string | undefined
  /** The server process that was given the weights, where nothing else tells whether it still has them. */
  readonly instance: string | undefined
  /** Why it gets no work although it answers: it refused an update, or its proof failed. */
  readonly unusable: string | undefined
  /** Versions by the names of weights in its answers. */
  private readonly markers = new Map<string, PolicyVersion>()

  private readonly attempts = new Set<RunningAttempt>()
  /** Ids of requests to abort at the end of this turn. */
  private aborting: string[] = []
  /** Since the last success. */
  private failures = 0
  /** How long the server stays down; doubles each time. */
  private pauseMs = firstPauseMs
  private downUntil = 0
  private notBefore = 0
  private usedAt = performance.now()
  private heardAt = 0

  constructor(
    readonly client: EngineClient,
    private readonly options: ReplicaOptions,
  ) {}

  private set(changes: Partial<Replica>): void {
    Object.assign(this, changes)
  }

  get url(): string {
    return this.client.url
  }

  get isConnected(): boolean {
    return this.facts !== undefined
  }

  get hasControl(): boolean {
    return this.facts.control === 'full'
  }

  get marksVersions(): boolean {
    return this.facts.marksVersions && this.hasControl
  }

  get running(): ReadonlySet<RunningAttempt> {
    return this.attempts
  }

  versionOf(marker: string): PolicyVersion | undefined {
    return this.markers.get(marker)
  }

  /** Whether it can be given a request now. */
  hasRoom(now: number): boolean {
    const most = this.state === 'up' ? this.options.maxInFlight : this.state === 'trial' ? 1 : 0
    const hasWeights = this.version !== undefined && this.unusable === undefined
    return this.attempts.size < most && !this.checking && hasWeights && now >= this.notBefore
  }

  isIdle(now: number, idleMs: number): boolean {
    return this.attempts.size === 0 && now - this.usedAt >= idleMs
  }

  /** Whether it was down for long enough to be tried again. */
  isDue(now: number): boolean {
    return this.state === 'down' && !this.checking && now >= this.downUntil
  }

  tell(kind: EngineEvent['kind'], message: string): void {
    this.options.onEvent({ kind, url: this.url, message })
  }

  learn(facts: ServerFacts): void {
    this.set({ facts })
  }

  /** down -> up: the first connection. */
  connected(): void {
    this.set({ state: 'up' })
    this.tell('connected', `${this.options.dialect.type} ${this.facts.software}`)
  }

  /** down -> trial: it answers again. */
  recovered(): void {
    this.set({ state: 'trial' })
  }

  /** trial -> up: a request ended well. */
  succeeded(running: RunningAttempt, tokens: number): void {
    if (this.state === 'trial') this.tell('back', 'takes work again')
    this.set({ state: 'up' })
    this.failures = 0
    this.pauseMs = firstPauseMs
    if (tokens === 0) return
    const ms = (performance.now() - running.startedAt) / tokens
    this.set({ msPerToken: this.msPerToken === undefined ? ms : 0.8 * this.msPerToken + 0.2 * ms })
  }

  /** A request failed. Returns the number of failures since the last success. */
  failed(): number {
    return ++this.failures
  }

  /** up, trial -> down: its requests are cancelled and made elsewhere. */
  drain(reason: string): void {
    if (this.state === 'down') return
    this.goDown(reason)
    this.tell('drained', reason)
  }

  /** down -> down, for longer: recovery failed. */
  stayDown(reason: string, why: 'unreachable' | 'refused'): void {
    if (why === 'refused' && reason !== this.downReason) this.tell('drained', reason)
    this.goDown(reason)
  }

  private goDown(downReason: string): void {
    this.set({ state: 'down', downReason, msPerToken: undefined })
    this.failures = 0
    this.downUntil = performance.now() + this.pauseMs
    this.pauseMs = Math.min(longestPauseMs, 2 * this.pauseMs)
    this.cancelAll('drained')
  }

  /** Gets no new work for a while. Returns how long. */
  backOff(afterMs: number): number {
    const wait = Math.min(Math.max(afterMs, 50), longestBackOffMs)
    this.notBefore = Math.max(this.notBefore, performance.now() + wait)
    return wait
  }

  /** Gets no work until the check has ended; a check that fails drains it. */
  check(check: Promise<void>, onEnd: () => void): void {
    const checking = check
      .catch((error: Error) => this.drain(error.message))
      .finally(() => {
        this.set({ checking: undefined })
        this.usedAt = performance.now()
        onEnd()
      })
    this.set({ checking })
  }

  async sleep(): Promise<void> {
    await this.options.dialect.sleep(this.client)
    this.set({ isAsleep: true })
  }

  async wake(): Promise<void> {
    await this.options.dialect.wake(this.client)
    this.set({ isAsleep: false })
  }

  /** A new server process does not sleep. */
  restarted(): void {
    this.set({ isAsleep: false })
  }

  /** It was given these weights. */
  gave(version: PolicyVersion, marker: string, { adapter, instance }: Pick<Replica, 'adapter' | 'instance'>): void {
    this.has(version, marker)
    this.set({ adapter, instance, unusable: undefined })
  }

  /** It has these weights. `marker`: their name in its answers. */
  has(version: PolicyVersion, marker: string | undefined): void {
    this.set({ version })
    if (marker !== undefined) this.markers.set(marker, version)
  }

  /** It may not have the weights it should have. */
  forgetVersion(): void {
    this.set({ version: undefined })
  }

  forgetAdapter(): void {
    this.set({ adapter: undefined })
  }

  /** It gets no work until an update succeeds. */
  refuse(reason: string): void {
    this.set({ version: undefined, unusable: reason })
  }

  /** The next update may succeed. */
  forgive(): void {
    this.set({ unusable: undefined })
  }

  begin(running: RunningAttempt): void {
    this.attempts.add(running)
  }

  end(running: RunningAttempt): void {
    this.attempts.delete(running)
    this.usedAt = performance.now()
  }

  /** An event of a stream arrived. */
  heard(): void {
    this.heardAt = performance.now()
  }

  /** Does not count the time of a pause as time of its requests. */
  excuse(heldMs: number): void {
    for (const running of this.attempts) running.excuse(heldMs)
  }

  cancelAll(reason: CancelReason): void {
    for (const running of [...this.attempts]) running.cancel(reason)
  }

  /** Resolves when no request runs. */
  async quiet(): Promise<void> {
    while (this.attempts.size > 0) await Promise.race([...this.attempts].map(({ done }) => done))
  }

  /** Resolves when all tokens that streams had sent have arrived. */
  async streamsQuiet(): Promise<void> {
    for (const end = performance.now() + quietDeadlineMs; performance.now() < end; ) {
      if (![...this.attempts].some(({ attempt }) => attempt.transport === 'stream')) return
      const before = this.heardAt
      await delay(quietMs)
      if (this.heardAt === before) return
    }
  }

  /** Resolves when all requests have ended. */
  async breakOffAll(reason: CancelReason): Promise<void> {
    for (const running of this.attempts) this.breakOff(running, reason)
    await this.quiet()
  }

  /** Ends a request, by an abort where the server has one: closing the connection would lose the tokens. */
  breakOff(running: RunningAttempt, reason: CancelReason): void {
    // The tokens of a stream have arrived already.
    if (running.attempt.transport === 'stream' || !this.hasControl || this.state === 'down') {
      running.cancel(reason)
      return
    }
    if (this.aborting.length === 0) setImmediate(() => this.sendAborts())
    this.aborting.push(running.attempt.id)
    running.isBrokenOff = true
    setTimeout(() => running.cancel(reason), abortPatienceMs).unref()
  }

  /** Repeats until the requests have ended: an abort may overtake its request. */
  private sendAborts(): void {
    const ids = new Set(this.aborting)
    this.aborting = []
    const again = (): void => {
      const left = [...this.attempts].filter(({ attempt }) => ids.has(attempt.id))
      if (left.length === 0) return
      this.options.dialect
        .abort(
          this.client,
          left.map(({ attempt }) => attempt.id),
        )
        .then(
          () => setTimeout(again, abortAgainMs).unref(),
          () => {
            for (const running of left) running.cancel(running.task.isAborted ? 'aborted' : 'paused')
          },
        )
    }
    again()
  }
}
