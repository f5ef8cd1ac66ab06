/** Decides which servers get work: drains one that is dead or slow, and brings it back when it answers again. */
import type { Dialect } from './dialect.js'
import { TransportError } from './errors.js'
import type { Replica } from './replica.js'
import type { ReplicaControl } from './replica-control.js'
import type { AttemptEnd, RunningAttempt } from './running-attempt.js'

/** A request is too slow after this time, if it also takes `slowFactor` times as long as on the fastest server. */
const slowestMs = 5000
const slowFactor = 8
/** A server that had no work for so long may have been restarted. */
const idleMs = 1000
const readinessMs = 2000
const failuresToDrain = 3

export class ReplicaHealth {
  constructor(
    private readonly replicas: readonly Replica[],
    private readonly dialect: Dialect,
    private readonly control: ReplicaControl,
    /** A server may have room again. */
    private readonly onChange: () => void,
  ) {}

  /** Reads the end of a request as a sign of its server's health. */
  judge(running: RunningAttempt, end: AttemptEnd): void {
    const { replica } = running
    if (replica.state === 'down') return
    if (end.kind === 'ended') replica.succeeded(running, end.tokens)
    else if (end.kind === 'other-weights') replica.drain(end.message)
    else if (end.kind === 'refused') {
      const { refusal } = end
      if (refusal.kind === 'unknown-weights') replica.drain(refusal.message)
      if (refusal.kind !== 'retry') return
      if (refusal.afterMs !== undefined || end.status === 429) this.backOff(replica, refusal.afterMs)
      else this.countFailure(replica, refusal.message)
    } else if (end.kind === 'failed') {
      const { error } = end
      if ('kind' in error && error.kind === 'unreachable') this.connectionBroke(replica, error.message)
      else this.countFailure(replica, error.message)
    }
  }

  /** Checks an idle server before it gets work. Returns whether a check was started. */
  needsCheck(replica: Replica, now: number): boolean {
    if (!replica.isIdle(now, idleMs)) return false
    const check = this.control.verify(replica, 'idle')
    if (check) replica.check(check, this.onChange)
    return check !== undefined
  }

  /** Drains servers that are too slow, and those without the current weights (an update can overtake a server that comes back). */
  drainUnfit(now: number): void {
    for (const replica of this.replicas) {
      if (replica.state === 'down') continue
      const { version, unusable, checking } = replica
      if (version === undefined && !unusable && !checking) replica.drain('it may not have the current weights')
      else this.drainIfSlow(replica, now)
    }
  }

  private drainIfSlow(replica: Replica, now: number): void {
    const others = this.replicas.filter(other => other !== replica && other.state === 'up' && !other.unusable)
    const best = Math.min(...others.map(({ msPerToken = Number.POSITIVE_INFINITY }) => msPerToken))
    if (!Number.isFinite(best)) return
    const seconds = (ms: number): string => (ms / 1000).toFixed(1)
    for (const { startedAt, attempt } of replica.running) {
      const elsewhere = best * attempt.maxNewTokens
      const took = now - startedAt
      if (took <= Math.max(slowestMs, slowFactor * elsewhere)) continue
      replica.drain(
        `too slow: a response takes more than ${seconds(took)} s, on another server ${seconds(elsewhere)} s`,
      )
      return
    }
  }

  /** Tries the servers that were down for long enough. */
  bringBackDown(now: number): void {
    for (const replica of this.replicas) if (replica.isDue(now)) replica.check(this.bringBack(replica), this.onChange)
  }

  private async bringBack(replica: Replica): Promise<void> {
    try {
      await this.control.recover(replica)
      replica.recovered()
    } catch (error) {
      replica.stayDown((error as Error).message, error instanceof TransportError ? 'unreachable' : 'refused')
    }
  }

  private backOff(replica: Replica, afterMs = 1000): void {
    setTimeout(this.onChange, replica.backOff(afterMs) + 1).unref()
  }

  private countFailure(replica: Replica, reason: string): void {
    const failures = replica.failed()
    if (failures >= failuresToDrain || replica.state === 'trial') replica.drain(reason)
    else this.backOff(replica, 100 * 2 ** failures)
  }

  /** Servers close idle connections, so a broken one proves nothing: asks whether the server answers, and whether it was restarted. */
  private connectionBroke(replica: Replica, reason: string): void {
    if (replica.failed() >= 2 * failuresToDrain || replica.state === 'trial') replica.drain(reason)
    if (replica.state === 'down' || replica.checking) return
    const check = async (): Promise<void> => {
      const asked = this.dialect.isReady(replica.client)
      const late = new Promise<false>(resolve => setTimeout(() => resolve(false), readinessMs).unref())
      if (!(await Promise.race([asked, late]))) throw new Error(reason)
      await this.control.verify(replica, 'broken')
    }
    replica.check(check(), this.onChange)
  }
}
