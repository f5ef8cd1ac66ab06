/**
 * A rank's watch over itself. A pass over sequences that gets no further, in a process that uses no processor, waits for something that
 * will not come. Rank 0 cannot know: the event loop turns, and signs of life go on.
 */
import { RankError } from './errors.js'
import type { Handler, IncomingCall } from './peer.js'

/** Passes: they make no collectives, which have a time limit of their own, and read no files. */
const watched = new Set(['model.score', 'model.forwardBackward'])
/** A process that uses less of one processor than this does nothing. */
const idleShare = 0.05

export class Stalls {
  /** Rejects when a pass has stalled. */
  readonly found: Promise<never>
  /** When each pass under way got further; those that wait for rank 0 are not in it. */
  private readonly passes = new Map<object, { op: string; since: number }>()
  private readonly timer: NodeJS.Timeout
  private busyAt = performance.now()
  private lookedAt = this.busyAt
  private used = process.cpuUsage()
  private reject!: (error: Error) => void

  constructor(private readonly limitMs: number) {
    this.found = new Promise((_, reject) => {
      this.reject = reject
    })
    // Nothing may be waiting for it.
    this.found.catch(() => {})
    this.timer = setInterval(() => this.look(performance.now()), Math.max(20, limitMs / 10)).unref()
  }

  /** The handler of a command, under watch where it is a pass. */
  watching(op: string, handler: Handler | undefined): Handler | undefined {
    if (!handler || !watched.has(op)) return handler
    return async call => {
      const pass = {}
      const further = (): void => void this.passes.set(pass, { op, since: performance.now() })
      const own: IncomingCall = {
        ...call,
        send: (body, arrays) => {
          further()
          call.send(body, arrays)
        },
        next: async () => {
          this.passes.delete(pass)
          const part = await call.next()
          further()
          return part
        },
      }
      further()
      try {
        return await handler(own)
      } finally {
        this.passes.delete(pass)
      }
    }
  }

  close(): void {
    clearInterval(this.timer)
  }

  private look(now: number): void {
    const { user, system } = process.cpuUsage(this.used)
    const wall = now - this.lookedAt
    // Time in which the process did not run at all says nothing.
    if ((user + system) / 1000 > idleShare * wall || wall > this.limitMs / 4) this.busyAt = now
    this.used = process.cpuUsage()
    this.lookedAt = now
    for (const { op, since } of this.passes.values())
      if (now - Math.max(since, this.busyAt) > this.limitMs)
        this.reject(new RankError(`${op} has got no further for ${this.limitMs / 1000} s, and uses no processor`))
  }
}
