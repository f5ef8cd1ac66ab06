/**
 * What is done to servers rather than asked of them: pauses, weights, sleep, and bringing one back that was away. One thing at
 * a time, on all servers together; a server that cannot be reached meanwhile is drained, and made right when it is back.
 */
import type { PolicyVersion } from '../../model/index.js'
import type { WeightsUpdate } from '../generator.js'
import { checkWeights, tiedHeadError, tiesEmbeddings } from './check-weights.js'
import { checkFit } from './connect.js'
import type { Dialect } from './dialect.js'
import { EngineError, TransportError } from './errors.js'
import type { ResolvedRemoteOptions } from './options.js'
import type { Replica } from './replica.js'
import type { HealthHooks } from './replica-health.js'
import type { ReplicaPool } from './replica-pool.js'
import { type PlannedWeights, ReplicaWeights } from './replica-weights.js'
import type { RemoteLimits } from './request-task.js'

/** How long a server may take to answer requests that it was told to break off. */
const breakOffMs = 5000

const delay = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

export class ReplicaControl implements HealthHooks {
  readonly weights: ReplicaWeights
  /** What every server must come up to, once that is known. */
  limits: RemoteLimits | undefined
  private pauses = 0
  private isPaused = false
  private sleeps = false
  private last: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly pool: () => ReplicaPool,
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
  ) {
    this.weights = new ReplicaWeights(dialect, options, (kind, replica, message) => pool().tell(kind, replica, message))
  }

  /** The servers sleep, and are not paused by someone who will resume them. */
  get isAsleep(): boolean {
    return this.sleeps && this.pauses === 0
  }

  get version(): PolicyVersion {
    return this.weights.version
  }

  private get connected(): readonly Replica[] {
    return this.pool().replicas.filter(({ isConnected }) => isConnected)
  }

  private get working(): readonly Replica[] {
    return this.connected.filter(({ state }) => state !== 'down')
  }

  /** One after another, also after one that failed. */
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
      if (mode) await Promise.all(this.working.map(replica => this.pool().breakOff(replica, 'paused')))
      return
    }
    this.isPaused = true
    this.pool().hold()
    // One that is being looked at may be given weights by that.
    await Promise.all(this.working.map(({ checking }) => checking))
    await this.each(replica => this.pauseOne(replica, mode ?? (replica.marksVersions ? 'keep' : 'break-off')))
  }

  private async pauseOne(replica: Replica, mode: 'keep' | 'break-off'): Promise<void> {
    const pool = this.pool()
    if (replica.facts.control !== 'full') return pool.breakOff(replica, 'paused')
    if (mode === 'break-off') for (const running of replica.running) running.isBrokenOff = true
    await this.dialect.pause(replica.server, mode)
    if (mode === 'keep') await replica.streamsQuiet()
    else {
      // Those alone: others may be under way when the time is over.
      const asked = [...replica.running]
      const late = setTimeout(() => {
        for (const running of asked) running.cancel('paused')
      }, breakOffMs)
      await replica.quiet()
      clearTimeout(late)
    }
  }

  /** Where nothing holds them any more. What was updated meanwhile is proved before anything new is sent. */
  private async resumeServers(): Promise<void> {
    if (!this.isPaused || this.pauses > 0 || this.sleeps) return
    this.isPaused = false
    try {
      await this.each(replica => this.resumeOne(replica))
      await this.each(replica => this.weights.proveIfNew(replica))
    } finally {
      this.pool().release()
    }
  }

  /** One that refuses would never answer: it is drained, and told again when it is looked at. */
  private async resumeOne(replica: Replica): Promise<void> {
    if (replica.facts.control !== 'full') return
    try {
      await this.dialect.resume(replica.server)
    } catch (error) {
      this.pool().drain(replica, (error as Error).message)
    }
  }

  /** On every server that works; one that cannot be reached is drained, any other failure thrown when all are done. */
  private async each(action: (replica: Replica) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(
      this.working.map(async replica => {
        try {
          await action(replica)
        } catch (error) {
          if (!(error instanceof TransportError)) throw error
          this.pool().drain(replica, error.message)
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
        this.weights.remember(next, this.pool().replicas)
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
      await this.taken(next, update.signal)
    })
  }

  /** What is known of a checkpoint before any server reads it. */
  private async checkDirectory(directory: string): Promise<void> {
    const { modelDirectory } = this.options
    if (modelDirectory === undefined) return
    const partial = this.connected.find(({ facts }) => facts.keepsTiedHead === true)
    if (partial && (await tiesEmbeddings(modelDirectory))) throw tiedHeadError(partial.url, partial.facts.software)
    await checkWeights(directory, modelDirectory)
  }

  /** With no server in reach the first that is back is given them, and is waited for. */
  private async taken({ version }: PlannedWeights, signal: AbortSignal | undefined): Promise<void> {
    const { replicas } = this.pool()
    const { patienceMs } = this.options
    // One that is being looked at may still fail its proof.
    const isServed = (): boolean => replicas.some(replica => replica.version === version && !replica.checking)
    for (const end = performance.now() + patienceMs; !isServed(); ) {
      signal?.throwIfAborted()
      const refused = replicas.every(({ unusable }) => unusable !== undefined) ? replicas[0]!.unusable : undefined
      if (refused !== undefined) throw new EngineError(refused)
      if (performance.now() < end && !this.pool().isClosed) await delay(50)
      else {
        const why = replicas.map(({ url, downReason }) => `${url}: ${downReason}`).join('; ')
        throw new EngineError(`no server took the weights of version ${version} (${why})`)
      }
    }
  }

  private async apply(next: PlannedWeights): Promise<void> {
    const { replicas } = this.pool()
    const previous = this.weights.remember(next, replicas)
    for (const replica of replicas) replica.unusable = undefined
    try {
      await this.each(async replica => {
        try {
          await this.weights.give(replica)
        } catch (error) {
          // What it has now is nothing to generate from, and on vLLM trying to ends it: nothing may be left that resuming wakes.
          await this.dialect.pause(replica.server, 'break-off').catch(() => {})
          await this.pool().breakOff(replica, 'drained')
          throw error
        }
      })
    } catch (error) {
      // With nobody to serve them, those before are what a server that comes back should have.
      if (!replicas.some(({ version }) => version === next.version)) this.weights.remember(previous, replicas)
      throw error
    }
  }

  sleep(): Promise<void> {
    return this.inTurn(async () => {
      if (this.sleeps) return
      this.sleeps = true
      this.pool().hold()
      await this.each(async replica => {
        // By the connection, and from the beginning when awake: so a sample does not depend on when others sleep.
        for (const running of [...replica.running]) running.cancel('paused')
        await replica.quiet()
        if (!replica.facts.sleep || replica.facts.control !== 'full') return
        await this.dialect.sleep(replica.server)
        replica.isAsleep = true
      }).catch(async error => {
        await this.wakeServers().catch(() => {})
        throw error
      })
    })
  }

  wake(): Promise<void> {
    return this.inTurn(() => this.wakeServers())
  }

  /** Leaves no server asleep for those who use it next: SGLang cannot be asked whether it sleeps. One that cannot be woken is left. */
  async wakeAtEnd(): Promise<void> {
    const asleep = this.connected.filter(({ isAsleep }) => isAsleep)
    if (asleep.length === 0) return
    await this.inTurn(() => Promise.allSettled(asleep.map(({ server }) => this.dialect.wake(server))))
  }

  /** What was to be loaded meanwhile is, before anything is generated. */
  private async wakeServers(): Promise<void> {
    if (!this.sleeps) return
    try {
      await this.each(async replica => {
        await this.wakeOne(replica)
        if (replica.version === undefined) await this.giveAlone(replica)
      })
    } finally {
      this.sleeps = false
      this.pool().release()
      await this.resumeServers()
    }
  }

  /** Those alone that sleep: SGLang ends when it is told to take memory that it has. One that refuses gets no work, and is told again. */
  private async wakeOne(replica: Replica): Promise<void> {
    if (!replica.isAsleep) return
    try {
      await this.dialect.wake(replica.server)
      replica.isAsleep = false
    } catch (error) {
      this.pool().drain(replica, (error as Error).message)
      throw error
    }
  }

  /** Weights for one server, while the others go on. */
  private async giveAlone(replica: Replica): Promise<void> {
    const controls = replica.facts.control === 'full'
    if (controls) await this.dialect.pause(replica.server, 'break-off')
    try {
      await this.weights.give(replica)
    } catch (error) {
      // Its words are those to be told, whatever becomes of the pause.
      if (controls) await this.dialect.resume(replica.server).catch(() => {})
      throw error
    }
    if (controls) await this.dialect.resume(replica.server)
    await this.weights.proveIfNew(replica)
  }

  /** First looks whether it answers at all, then what it is and which weights it has. */
  async recover(replica: Replica): Promise<void> {
    if (this.sleeps) throw new EngineError('it is looked at again when the engine is awake')
    if (!(await this.dialect.isReady(replica.server)))
      throw new TransportError('unreachable', `${replica.url}: it answers, and is not ready`)
    // It was away when the others were woken: without its memory it could not answer what it is asked now.
    if (replica.isAsleep) {
      if (!(await this.weights.isStartedAnew(replica))) await this.dialect.wake(replica.server)
      replica.isAsleep = false
    }
    const facts = await this.dialect.probe(replica.server)
    if (this.limits) checkFit(facts, this.limits)
    replica.facts = facts
    // It may be paused from before it was away.
    if (facts.control === 'full') await this.dialect.resume(replica.server)
    await this.weights.forgetAdapter(replica)
    await this.weights.recognise(replica, 'down')
    // Others may be given newer ones while this one gets its own.
    while (replica.version !== this.weights.version) await this.giveAlone(replica)
    await this.weights.proveIfNew(replica)
  }

  verify(replica: Replica, after: 'idle' | 'broken'): Promise<void> | undefined {
    if (!this.weights.isUpdated) return undefined
    return (async () => {
      await this.weights.recognise(replica, after)
      if (replica.version !== this.weights.version) await this.giveAlone(replica)
    })()
  }
}
