/**
 * Sends waiting samples to servers: to the least loaded one, the samples of a prompt to the same one where that costs no waiting.
 */
import { randomUUID } from 'node:crypto'
import type { Dialect } from './dialect.js'
import type { ResolvedRemoteOptions } from './options.js'
import type { Replica } from './replica.js'
import type { ReplicaControl } from './replica-control.js'
import { ReplicaHealth } from './replica-health.js'
import { type AttemptEnd, nextMove, RunningAttempt } from './running-attempt.js'
import type { SampleTask } from './sample-task.js'

/** How often slow and down servers are looked for. */
const tickMs = 250
/** How many prompts are remembered with their servers. */
const mostPrompts = 8192

export class ReplicaPool {
  private readonly waiting: SampleTask[] = []
  private readonly avoided = new WeakMap<SampleTask, Replica>()
  /** Where the samples of a prompt were sent. */
  private readonly lastReplica = new Map<string, Replica>()
  /** Where a session is: its server has the conversation in its cache. */
  private readonly homes = new Map<string, Replica>()
  private timer: NodeJS.Timeout | undefined
  private isClosed = false
  /** Makes the ids of requests unique on a server that several engines use. */
  private readonly name = randomUUID().slice(0, 8)
  private attempts = 0
  /** Since when no server could be given work. */
  private stuckSince: number | undefined
  private readonly health: ReplicaHealth
  private promptTokens = 0
  private generatedTokens = 0

  constructor(
    readonly replicas: readonly Replica[],
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
    private readonly control: ReplicaControl,
  ) {
    const pump = (): void => this.pump()
    control.onRelease = pump
    this.health = new ReplicaHealth(replicas, dialect, control, pump)
  }

  /** Starts the regular checks of servers. */
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

  /** Ends a sample with the tokens it has; a request under way has a moment to return its tokens. */
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
      for (const running of replica.running) if (running.task === task) replica.breakOff(running, 'aborted')
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const task of this.waiting.splice(0)) this.end(task)
    for (const replica of this.replicas) replica.cancelAll('closed')
  }

  /** Sends waiting samples to servers that have room. Called whenever that may have changed. */
  pump(): void {
    if (!this.control.isHeld && !this.isClosed) this.sendWaiting()
    // A waiting sample keeps the process alive: with all servers down nothing else would.
    if (this.waiting.length > 0) this.timer?.ref()
    else this.timer?.unref()
  }

  private sendWaiting(): void {
    for (let i = 0; i < this.waiting.length; ) {
      const task = this.waiting[i]!
      const replica = this.choose(task)
      if (!replica) {
        // A sample that avoids a server, or goes on at its own, waits; later ones may not have to.
        if (!this.avoided.has(task) && !this.homeOf(task)) break
        i++
        continue
      }
      this.waiting.splice(i, 1)
      this.send(task, replica)
    }
  }

  private choose(task: SampleTask): Replica | undefined {
    const now = performance.now()
    const free = this.replicas.filter(replica => replica.hasRoom(now) && !this.health.needsCheck(replica, now))
    const avoided = this.avoided.get(task)
    const usable = this.replicas.some(replica => replica !== avoided && replica.state === 'up' && !replica.unusable)
    const candidates = usable ? free.filter(replica => replica !== avoided) : free
    const home = this.homeOf(task)
    if (home) return candidates.find(replica => replica === home)
    const chosen = this.chooseFor(task.request.promptId, candidates)
    const { session } = task.request.request
    if (session !== undefined && chosen) this.homes.set(session, chosen)
    return chosen
  }

  /** The server of a task's session. One that is down, or that the task has to avoid, is left for another. */
  private homeOf(task: SampleTask): Replica | undefined {
    const { session } = task.request.request
    const home = session === undefined ? undefined : this.homes.get(session)
    if (!home || home.state === 'down' || home.unusable || home === this.avoided.get(task)) return undefined
    return home
  }

  /** A session is over. */
  release(session: string): void {
    this.homes.delete(session)
  }

  /** The least loaded server, or the one that has the prompt in its cache unless that one is clearly fuller. */
  private chooseFor(promptId: string, candidates: readonly Replica[]): Replica | undefined {
    let least: Replica | undefined
    for (const replica of candidates) if (!least || replica.running.size < least.running.size) least = replica
    if (!least) return undefined
    const before = this.lastReplica.get(promptId)
    if (before && candidates.includes(before) && before.running.size <= 1.25 * least.running.size + 4) return before
    this.lastReplica.delete(promptId)
    this.lastReplica.set(promptId, least)
    if (this.lastReplica.size > mostPrompts) this.lastReplica.delete(this.lastReplica.keys().next().value!)
    return least
  }

  private send(task: SampleTask, replica: Replica): void {
    const { dialect, options } = this
    const attempt = task.nextAttempt(
      `whetstone-${process.pid}-${this.name}-${this.attempts++}`,
      replica.adapter,
      replica.facts,
    )
    const running = new RunningAttempt(attempt, task, replica)
    replica.begin(running)
    const before = task.record.length
    if (before === 0) this.promptTokens += attempt.ids.length
    const onTokens = (count: number): void => {
      this.generatedTokens += count
    }
    running.start({ dialect, vocabSize: options.vocabSize, timeoutMs: options.requestTimeoutMs, onTokens }, end => {
      replica.end(running)
      this.settle(running, end)
      this.pump()
    })
  }

  /** Applies the end of a request to its sample and its server. */
  private settle(running: RunningAttempt, end: AttemptEnd): void {
    const { task, replica } = running
    this.avoided.delete(task)
    this.health.judge(running, end)
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
          if (move.message !== undefined) replica.tell('retried', move.message)
          // Before the samples that have not begun.
          this.waiting.unshift(task)
        }
    }
  }

  private tick(): void {
    const now = performance.now()
    if (!this.control.isHeld) this.health.drainUnfit(now)
    this.health.bringBackDown(now)
    this.giveUpIfStuck(now)
    this.pump()
  }

  /** Fails the waiting samples when no server was usable for too long. */
  private giveUpIfStuck(now: number): void {
    const isUsable = this.replicas.some(replica => replica.state !== 'down' && !replica.unusable)
    if (this.control.isHeld || this.waiting.length === 0 || isUsable) {
      this.stuckSince = undefined
      return
    }
    this.stuckSince ??= now
    if (now - this.stuckSince < this.options.patienceMs) return
    const why = this.replicas.map(({ url, unusable, downReason }) => `${url}: ${unusable ?? downReason}`).join('; ')
    const message = `no server could be used for ${this.options.patienceMs / 1000} s (${why})`
    for (const task of this.waiting.splice(0)) task.fail('unreachable', message)
  }

  /** Ends a sample with the tokens it has. */
  private end(task: SampleTask): void {
    const version = this.replicas.find(replica => replica.version !== undefined)?.version ?? this.options.version
    void task.finish('abort', undefined, version)
  }
}
