/**
 * Operations on all servers: pause, resume, update of weights, sleep, and recovery of one server. They run one at a time. A server
 * that cannot be reached meanwhile is drained, and gets its weights when it is back.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { WeightsUpdate } from '../generator.js'
import { checkWeights, tiedHeadError, tiesEmbeddings } from './check-weights.js'
import type { Dialect, ServerFacts } from './dialect.js'
import { EngineError, TransportError } from './errors.js'
import type { ResolvedRemoteOptions } from './options.js'
import type { Replica } from './replica.js'
import { type PlannedWeights, ReplicaWeights } from './replica-weights.js'
import type { RemoteLimits } from './request-task.js'

/** How long a server may take to end requests that were broken off. */
const breakOffMs = 5000

export class ReplicaControl {
  readonly weights: ReplicaWeights
  /** What every server must support; known after the first connection. */
  limits: RemoteLimits | undefined
  /** Called when requests may be sent again. */
  onRelease: () => void = () => {}
  private pauses = 0
  private isPaused = false
  private sleeps = false
  private isClosed = false
  /** How many operations hold requests back, and since when. */
  private holds = 0
  private heldSince = 0
  private last: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly replicas: readonly Replica[],
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
  ) {
    this.weights = new ReplicaWeights(dialect, options)
  }

  /** The servers sleep, and no caller of `pause` will resume them. */
  get isAsleep(): boolean {
    return this.sleeps && this.pauses === 0
  }

  /** No request may be sent. */
  get isHeld(): boolean {
    return this.holds > 0
  }

  private get connected(): readonly Replica[] {
    return this.replicas.filter(({ isConnected }) => isConnected)
  }

  private get working(): readonly Replica[] {
    return this.connected.filter(({ state }) => state !== 'down')
  }

  private hold(): void {
    if (this.holds++ === 0) this.heldSince = performance.now()
  }

  private release(): void {
    if (--this.holds > 0) return
    const heldMs = performance.now() - this.heldSince
    for (const replica of this.replicas) replica.excuse(heldMs)
    this.onRelease()
  }

  /** Runs after the operations before it, also where one failed. */
  private inTurn<T>(action: () => Promise<T>): Promise<T> {
    const done = this.last.then(action, action)
    this.last = done.catch(() => {})
    return done
  }

  pause(): Promise<void> {
    this.pauses++
    return this.inTurn(async () => {
      try {
        await this.pauseServers()
      } catch (error) {
        this.pauses--
        await this.resumeServers().catch(() => {})
        throw error
      }
    })
  }

  resume(): void {
    if (this.pauses === 0) throw new EngineError('resume without a pause')
    this.pauses--
    void this.inTurn(() => this.resumeServers()).catch(() => {})
  }

  private async pauseServers(mode?: 'break-off'): Promise<void> {
    if (this.isPaused) {
      if (mode) await Promise.all(this.working.map(replica => replica.breakOffAll('paused')))
      return
    }
    this.isPaused = true
    this.hold()
    // A check may load weights.
    await Promise.all(this.working.map(({ checking }) => checking))
    await this.each(replica => this.pauseOne(replica, mode ?? (replica.marksVersions ? 'keep' : 'break-off')))
  }

  private async pauseOne(replica: Replica, mode: 'keep' | 'break-off'): Promise<void> {
    if (!replica.hasControl) return replica.breakOffAll('paused')
    if (mode === 'break-off') for (const running of replica.running) running.isBrokenOff = true
    await this.dialect.pause(replica.client, mode)
    if (mode === 'keep') return replica.streamsQuiet()
    // Only these requests: new ones may run when the time is over.
    const asked = [...replica.running]
    const late = setTimeout(() => {
      for (const running of asked) running.cancel('paused')
    }, breakOffMs)
    await replica.quiet()
    clearTimeout(late)
  }

  /** Unless another pause or sleep holds the servers. Updated servers are proved before they get new requests. */
  private async resumeServers(): Promise<void> {
    if (!this.isPaused || this.pauses > 0 || this.sleeps) return
    this.isPaused = false
    try {
      await this.each(replica => this.resumeOne(replica))
      await this.each(replica => this.weights.proveIfNew(replica))
    } finally {
      this.release()
    }
  }

  /** A server that does not resume would never answer: drains it; recovery resumes it again. */
  private async resumeOne(replica: Replica): Promise<void> {
    if (!replica.hasControl) return
    try {
      await this.dialect.resume(replica.client)
    } catch (error) {
      replica.drain((error as Error).message)
    }
  }

  /** On every working server. Drains those that cannot be reached; throws any other failure when all are done. */
  private async each(action: (replica: Replica) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(
      this.working.map(async replica => {
        try {
          await action(replica)
        } catch (error) {
          if (!(error instanceof TransportError)) throw error
          replica.drain(error.message)
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  updateWeights(update: WeightsUpdate): Promise<void> {
    return this.inTurn(async () => {
      const next = this.weights.plan(update, this.connected)
      if (!next) return
      if (next.update?.kind === 'directory') await this.checkDirectory(update.directory!)
      if (this.sleeps) {
        this.weights.setTarget(next, this.replicas)
        return
      }
      try {
        await this.pauseServers(next.update?.kind === 'adapter' ? 'break-off' : undefined)
        await this.apply(next)
      } catch (error) {
        await this.resumeServers().catch(() => {})
        throw error
      }
      await this.resumeServers()
      await this.waitUntilServed(next, update.signal)
    })
  }

  /** Checks a checkpoint before any server reads it. */
  private async checkDirectory(directory: string): Promise<void> {
    const { modelDirectory } = this.options
    if (modelDirectory === undefined) return
    const partial = this.connected.find(({ facts }) => facts.keepsTiedHead === true)
    if (partial && (await tiesEmbeddings(modelDirectory))) throw tiedHeadError(partial.url, partial.facts.software)
    await checkWeights(directory, modelDirectory)
  }

  /** Where no server could be reached, waits for the first one that comes back and takes the weights. */
  private async waitUntilServed({ version }: PlannedWeights, signal: AbortSignal | undefined): Promise<void> {
    const { replicas } = this
    // A server that is being checked may still fail its proof.
    const isServed = (): boolean => replicas.some(replica => replica.version === version && !replica.checking)
    for (const end = performance.now() + this.options.patienceMs; !isServed(); ) {
      signal?.throwIfAborted()
      const refused = replicas.every(({ unusable }) => unusable !== undefined) ? replicas[0]!.unusable : undefined
      if (refused !== undefined) throw new EngineError(refused)
      if (performance.now() < end && !this.isClosed) await delay(50)
      else {
        const why = replicas.map(({ url, downReason }) => `${url}: ${downReason}`).join('; ')
        throw new EngineError(`no server took the weights of version ${version} (${why})`)
      }
    }
  }

  private async apply(next: PlannedWeights): Promise<void> {
    const { replicas } = this
    const previous = this.weights.setTarget(next, replicas)
    for (const replica of replicas) replica.forgive()
    try {
      await this.each(async replica => {
        try {
          await this.weights.give(replica)
        } catch (error) {
          // A failed load leaves broken weights. vLLM ends when it generates from them: no request may be left to resume.
          await this.dialect.pause(replica.client, 'break-off').catch(() => {})
          await replica.breakOffAll('drained')
          throw error
        }
      })
    } catch (error) {
      // If no server accepted the update, the previous weights are the target again.
      if (!replicas.some(({ version }) => version === next.version)) this.weights.setTarget(previous, replicas)
      throw error
    }
  }

  sleep(): Promise<void> {
    return this.inTurn(async () => {
      if (this.sleeps) return
      this.sleeps = true
      this.hold()
      await this.each(async replica => {
        // Drops partial responses, so that samples do not depend on when servers sleep.
        replica.cancelAll('paused')
        await replica.quiet()
        if (replica.facts.sleep && replica.hasControl) await replica.sleep()
      }).catch(async error => {
        await this.wakeServers().catch(() => {})
        throw error
      })
    })
  }

  wake(): Promise<void> {
    return this.inTurn(() => this.wakeServers())
  }

  /** Wakes the servers for their next user: SGLang cannot be asked whether it sleeps. Ignores failures. */
  async close(): Promise<void> {
    const asleep = this.connected.filter(({ isAsleep }) => isAsleep)
    if (asleep.length > 0) await this.inTurn(() => Promise.allSettled(asleep.map(replica => replica.wake())))
    this.isClosed = true
  }

  /** Loads an update that came while the servers slept before they get requests. */
  private async wakeServers(): Promise<void> {
    if (!this.sleeps) return
    try {
      await this.each(async replica => {
        await this.wakeOne(replica)
        if (replica.version === undefined) await this.giveAlone(replica)
      })
    } finally {
      this.sleeps = false
      this.release()
      await this.resumeServers()
    }
  }

  /** Only a server that sleeps: SGLang ends when it is woken twice. Drains one that refuses; recovery wakes it again. */
  private async wakeOne(replica: Replica): Promise<void> {
    if (!replica.isAsleep) return
    try {
      await replica.wake()
    } catch (error) {
      replica.drain((error as Error).message)
      throw error
    }
  }

  /** Loads the weights on one server, while the others go on. */
  private async giveAlone(replica: Replica): Promise<void> {
    if (replica.hasControl) await this.dialect.pause(replica.client, 'break-off')
    try {
      await this.weights.give(replica)
    } catch (error) {
      // The caller gets the error of the update, not of the resume.
      if (replica.hasControl) await this.dialect.resume(replica.client).catch(() => {})
      throw error
    }
    if (replica.hasControl) await this.dialect.resume(replica.client)
    await this.weights.proveIfNew(replica)
  }

  /** Makes a server that was down ready for work: probes it, resumes it, gives it the current weights. */
  async recover(replica: Replica): Promise<void> {
    if (this.sleeps) throw new EngineError('the engine sleeps; this server is checked when the engine is awake')
    if (!(await this.dialect.isReady(replica.client)))
      throw new TransportError('unreachable', `${replica.url}: the server answers, but is not ready`)
    // It was down when the others were woken, and cannot answer the probe while it sleeps.
    if (replica.isAsleep) {
      if (await this.weights.isRestarted(replica)) replica.restarted()
      else await replica.wake()
    }
    const facts = await this.dialect.probe(replica.client)
    if (this.limits) checkFit(facts, this.limits)
    replica.learn(facts)
    // It may be paused from before it was down.
    if (replica.hasControl) await this.dialect.resume(replica.client)
    await this.weights.unloadAdapter(replica)
    await this.weights.recognise(replica, 'down')
    // A newer update may come while this server loads its weights.
    while (replica.version !== this.weights.version) await this.giveAlone(replica)
    await this.weights.proveIfNew(replica)
  }

  /** Checks that a server still has the current weights, and loads them where not. Undefined: no check is needed. */
  verify(replica: Replica, after: 'idle' | 'broken'): Promise<void> | undefined {
    if (!this.weights.isUpdated) return undefined
    return (async () => {
      await this.weights.recognise(replica, after)
      if (replica.version !== this.weights.version) await this.giveAlone(replica)
    })()
  }
}

/** Requests were checked against the limits of the first servers: a server that joins later must not be below them. */
function checkFit(
  { logprobs, maxLength, maxPromptLength, media, mediaNeeds, videoRate, audio }: ServerFacts,
  limits: RemoteLimits,
): void {
  const unread = limits.media.find(kind => !media.includes(kind))
  if (unread)
    throw new EngineError(`it reads no ${unread}s, and other servers do: ${mediaNeeds ?? 'it serves another model'}`)
  if (videoRate !== undefined && limits.media.includes('video') && !limits.videoRates.includes(videoRate))
    throw new EngineError(
      `it takes ${videoRate} frames of a second for videos, and other servers do not: start all servers with the same options`,
    )
  if (limits.audio === 'supported' && typeof audio === 'object')
    throw new EngineError(`it does not support audio, and other servers do: ${audio.missing}`)
  if (logprobs !== limits.logprobs)
    throw new EngineError(
      `it gives ${logprobs} log-probabilities, not ${limits.logprobs}: start all servers with the same options`,
    )
  if (maxLength < limits.maxLength || maxPromptLength < limits.maxPromptLength)
    throw new EngineError(
      `its context has ${maxLength} tokens, but ${limits.maxLength} are needed: start all servers with the same options`,
    )
}
