/**
 * The servers and the samples that wait for them. Least loaded first, the samples of a prompt together where that costs no
 * waiting; a server that is dead or slow is drained, looked at again after a while, tried with one request, and back.
 */
import type { Dialect } from './dialect.js'
import { nextMove } from './next-move.js'
import type { ResolvedRemoteOptions } from './options.js'
import type { Replica } from './replica.js'
import { type AttemptEnd, type CancelReason, RunningAttempt } from './running-attempt.js'
import type { SampleTask } from './sample-task.js'
import { StickyReplicas } from './sticky-replicas.js'

/** How often what takes too long is looked for. */
const tickMs = 250
/** An attempt is never too slow before this, */
const slowestMs = 5000
/** and not before it takes this many times as long as it would elsewhere. */
const slowFactor = 8
/** After this long without work a server may be another than it was. */
const idleMs = 1000
/** How long an attempt that was told to end may take for it. */
const abortMs = 2000
/** and when it is told again. */
const abortAgainMs = 100
const readinessMs = 2000
const strikesToDrain = 3

export interface PoolHooks {
  /** Makes a server that was down, or may have been started anew, ready for work: with the weights it should have. */
  recover(replica: Replica): Promise<void>
  /**
   * Whether a server that was idle, or whose connection broke, has the weights it should have, and gives them to it. Undefined: it
   * needs no look.
   */
  verify(replica: Replica, after: 'idle' | 'broken'): Promise<void> | undefined
}

export class ReplicaPool {
  private readonly waiting: SampleTask[] = []
  private readonly avoided = new WeakMap<SampleTask, Replica>()
  private readonly sticky = new StickyReplicas()
  private timer: NodeJS.Timeout | undefined
  /** Why nothing is sent: pauses, sleep, updates. */
  private holds = 0
  private heldSince = 0
  isClosed = false
  private attempts = 0
  /** Since when no server could be given work. */
  private stuckSince: number | undefined
  private readonly aborting = new Map<Replica, string[]>()
  promptTokens = 0
  generatedTokens = 0

  constructor(
    readonly replicas: readonly Replica[],
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
    private readonly hooks: PoolHooks,
  ) {}

  /** From now on servers are looked after. */
  start(): void {
    this.timer = setInterval(() => this.tick(), tickMs)
    this.timer.unref()
  }

  get counts(): { running: number; waiting: number; promptTokens: number; generatedTokens: number } {
    const running = this.replicas.reduce((sum, replica) => sum + replica.running.size, 0)
    const { waiting, promptTokens, generatedTokens } = this
    return { running, waiting: waiting.length, promptTokens, generatedTokens }
  }

  submit(task: SampleTask): void {
    if (task.isAborted || this.isClosed) {
      this.end(task)
      return
    }
    this.waiting.push(task)
    this.pump()
  }

  /** Nothing is sent until as many `release`s. */
  hold(): void {
    if (this.holds++ === 0) this.heldSince = performance.now()
  }

  release(): void {
    if (--this.holds > 0) return
    // Whoever was held is not slow.
    const heldMs = performance.now() - this.heldSince
    for (const replica of this.replicas) for (const running of replica.running) running.excuse(heldMs)
    this.pump()
  }

  /** Ends a sample with what it has; a request under way is told so, and has a moment to answer with its tokens. */
  abort(task: SampleTask): void {
    if (task.isAborted || task.outcome) return
    task.isAborted = true
    const at = this.waiting.indexOf(task)
    if (at >= 0) {
      this.waiting.splice(at, 1)
      this.end(task)
      return
    }
    for (const replica of this.replicas)
      for (const running of replica.running) if (running.task === task) this.breakOffOne(running, 'aborted')
  }

  /** Ends attempts on a server so that what they have comes back, as far as the server can; resolves when all have ended. */
  async breakOff(replica: Replica, reason: CancelReason): Promise<void> {
    for (const running of replica.running) this.breakOffOne(running, reason)
    await this.quiet(replica)
  }

  /** Resolves when nothing is under way on a server. */
  async quiet(replica: Replica): Promise<void> {
    while (replica.running.size > 0) await Promise.race([...replica.running].map(({ done }) => done))
  }

  private breakOffOne(running: RunningAttempt, reason: CancelReason): void {
    const { replica, attempt } = running
    // A stream has given us what there is. A server without control routes notices the connection alone.
    if (attempt.transport === 'stream' || replica.facts.control !== 'full' || replica.state === 'down') {
      running.cancel(reason)
      return
    }
    let ids = this.aborting.get(replica)
    if (!ids) {
      ids = []
      this.aborting.set(replica, ids)
      setImmediate(() => this.sendAborts(replica))
    }
    ids.push(attempt.id)
    running.isBrokenOff = true
    setTimeout(() => running.cancel(reason), abortMs).unref()
  }

  /** Until they have ended: a call to end a request may overtake the request itself. */
  private sendAborts(replica: Replica): void {
    const ids = new Set(this.aborting.get(replica))
    this.aborting.delete(replica)
    const send = (): void => {
      const left = [...replica.running].filter(({ attempt }) => ids.has(attempt.id))
      if (left.length === 0) return
      const names = left.map(({ attempt }) => attempt.id)
      this.dialect.abort(replica.server, names).then(
        () => setTimeout(send, abortAgainMs).unref(),
        () => {
          for (const running of left) running.cancel(running.task.isAborted ? 'aborted' : 'paused')
        },
      )
    }
    send()
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const task of this.waiting.splice(0)) this.end(task)
    for (const replica of this.replicas) for (const running of [...replica.running]) running.cancel('closed')
  }

  /** Gives work to whoever has room. Called whenever that may have changed. */
  pump(): void {
    if (this.holds > 0 || this.isClosed) return
    for (let i = 0; i < this.waiting.length; ) {
      const task = this.waiting[i]!
      const replica = this.choose(task)
      if (!replica) {
        // Those that avoid a server may wait while others do not.
        if (!this.avoided.has(task)) break
        i++
        continue
      }
      this.waiting.splice(i, 1)
      this.send(task, replica)
    }
  }

  private choose(task: SampleTask): Replica | undefined {
    const now = performance.now()
    const free = this.replicas.filter(replica => replica.hasRoom(now) && !this.needsLook(replica, now))
    const avoided = this.avoided.get(task)
    const usable = this.replicas.some(replica => replica !== avoided && replica.state === 'up' && !replica.unusable)
    const candidates = usable ? free.filter(replica => replica !== avoided) : free
    return this.sticky.choose(task.request.promptId, candidates)
  }

  /** Starts the look, and answers that there is one. */
  private needsLook(replica: Replica, now: number): boolean {
    if (replica.running.size > 0 || now - replica.lastUsed < idleMs) return false
    const look = this.hooks.verify(replica, 'idle')
    if (!look) return false
    this.check(replica, look)
    return true
  }

  private check(replica: Replica, look: Promise<void>): void {
    const checking = look
      .catch((error: Error) => this.drain(replica, error.message))
      .finally(() => {
        replica.checking = undefined
        replica.lastUsed = performance.now()
        this.pump()
      })
    replica.checking = checking
  }

  private send(task: SampleTask, replica: Replica): void {
    const { dialect, options } = this
    const attempt = task.nextAttempt(
      `whetstone-${process.pid}-${runId}-${this.attempts++}`,
      replica.adapter,
      replica.facts,
    )
    const running = new RunningAttempt(attempt, task, replica)
    replica.running.add(running)
    const before = task.record.length
    if (before === 0) this.promptTokens += attempt.ids.length
    const onTokens = (count: number): void => {
      this.generatedTokens += count
    }
    running.start({ dialect, vocabSize: options.vocabSize, timeoutMs: options.requestTimeoutMs, onTokens }, end => {
      replica.running.delete(running)
      replica.lastUsed = performance.now()
      this.settle(running, end)
      this.pump()
    })
  }

  /** What the end of an attempt means for its sample and its server. */
  private settle(running: RunningAttempt, end: AttemptEnd): void {
    const { task, replica } = running
    this.avoided.delete(task)
    this.judge(running, end)
    const move = nextMove(running, end)
    switch (move.kind) {
      case 'finish':
        void task.finish(move.reason, move.stop, running.version)
        return
      case 'fail':
        task.fail(move.reason, move.message)
        return
      case 'reject':
        task.reject(move.message)
        return
      case 'again':
        if (this.isClosed || task.isAborted) this.end(task)
        else if (move.busy && task.isBusyTooLong(this.options.patienceMs)) task.fail('unreachable', move.busy)
        else {
          if (move.elsewhere) this.avoided.set(task, replica)
          if (move.message !== undefined) this.tell('retried', replica, move.message)
          // It has waited: it goes on before those that have not begun.
          this.waiting.unshift(task)
        }
    }
  }

  /** What it says about the server. */
  private judge(running: RunningAttempt, end: AttemptEnd): void {
    const { replica } = running
    if (replica.state === 'down') return
    if (end.kind === 'ended') {
      if (replica.state === 'trial') this.tell('back', replica, 'takes work again')
      replica.succeeded(running, end.tokens)
    } else if (end.kind === 'other-weights') this.drain(replica, end.message)
    else if (end.kind === 'refused') {
      const { refusal } = end
      if (refusal.kind === 'unknown-weights') this.drain(replica, refusal.message)
      if (refusal.kind !== 'retry') return
      if (refusal.afterMs !== undefined || end.status === 429) this.backOff(replica, refusal.afterMs)
      else this.strike(replica, refusal.message)
    } else if (end.kind === 'failed') {
      const { error } = end
      if ('kind' in error && error.kind === 'unreachable') this.suspect(replica, error.message)
      else this.strike(replica, error.message)
    }
  }

  private backOff(replica: Replica, afterMs = 1000): void {
    const wait = Math.min(Math.max(afterMs, 50), 60_000)
    replica.notBefore = Math.max(replica.notBefore, performance.now() + wait)
    setTimeout(() => this.pump(), wait + 1).unref()
  }

  private strike(replica: Replica, reason: string): void {
    if (++replica.strikes >= strikesToDrain || replica.state === 'trial') this.drain(replica, reason)
    else this.backOff(replica, 100 * 2 ** replica.strikes)
  }

  /** A connection broke. One that was idle too long is no sign; a server that does not answer is, and one that was started anew. */
  private suspect(replica: Replica, reason: string): void {
    if (++replica.strikes >= 2 * strikesToDrain || replica.state === 'trial') this.drain(replica, reason)
    if (replica.state === 'down' || replica.checking) return
    const look = async (): Promise<void> => {
      const asked = this.dialect.isReady(replica.server)
      const late = new Promise<false>(resolve => setTimeout(() => resolve(false), readinessMs).unref())
      if (!(await Promise.race([asked, late]))) throw new Error(reason)
      await this.hooks.verify(replica, 'broken')
    }
    this.check(replica, look())
  }

  drain(replica: Replica, reason: string): void {
    if (replica.state === 'down') return
    replica.drain(reason)
    this.tell('drained', replica, reason)
  }

  private tick(): void {
    const now = performance.now()
    for (const replica of this.replicas) {
      // An update came between its coming back and its first work.
      const { version, unusable, checking } = replica
      if (replica.state !== 'down' && version === undefined && !unusable && !checking && this.holds === 0)
        this.drain(replica, 'it may not have the weights it should have')
      if (replica.state === 'down' && !replica.checking && now >= replica.retryAt) this.bringBack(replica)
      if (replica.state !== 'down') this.drainIfSlow(replica, now)
    }
    this.giveUpIfStuck(now)
    this.pump()
  }

  private bringBack(replica: Replica): void {
    const look = async (): Promise<void> => {
      try {
        await this.hooks.recover(replica)
        replica.state = 'trial'
      } catch (error) {
        replica.drain((error as Error).message)
      }
    }
    this.check(replica, look())
  }

  private drainIfSlow(replica: Replica, now: number): void {
    if (this.holds > 0) return
    const others = this.replicas.filter(other => other !== replica && other.state === 'up' && !other.unusable)
    const best = Math.min(...others.map(({ msPerToken = Number.POSITIVE_INFINITY }) => msPerToken))
    if (!Number.isFinite(best)) return
    for (const { startedAt, attempt } of replica.running) {
      const limit = Math.max(slowestMs, slowFactor * best * attempt.maxNewTokens)
      if (now - startedAt <= limit) continue
      const took = ((now - startedAt) / 1000).toFixed(1)
      this.drain(
        replica,
        `too slow: an answer takes more than ${took} s, elsewhere ${((best * attempt.maxNewTokens) / 1000).toFixed(1)} s`,
      )
      return
    }
  }

  /** With no server to be had for too long, those that wait are told. */
  private giveUpIfStuck(now: number): void {
    const isUsable = this.replicas.some(replica => replica.state !== 'down' && !replica.unusable)
    if (this.holds > 0 || this.waiting.length === 0 || isUsable) {
      this.stuckSince = undefined
      return
    }
    this.stuckSince ??= now
    if (now - this.stuckSince < this.options.patienceMs) return
    const why = this.replicas.map(({ url, unusable, downReason }) => `${url}: ${unusable ?? downReason}`).join('; ')
    const message = `no server could be used for ${this.options.patienceMs / 1000} s (${why})`
    for (const task of this.waiting.splice(0)) task.fail('unreachable', message)
  }

  /** A sample that was ended has what came so far. */
  private end(task: SampleTask): void {
    const version = this.replicas.find(replica => replica.version !== undefined)?.version ?? this.options.version
    void task.finish('abort', undefined, version)
  }

  tell(kind: Parameters<ResolvedRemoteOptions['onEvent']>[0]['kind'], { url }: Replica, message: string): void {
    this.options.onEvent({ kind, url, message })
  }
}

/** Names of attempts are not used twice, by no process that asks the same server. */
const runId = Math.floor(Math.random() * 2 ** 40).toString(36)
