/**
 * Signs of life between processes that compute together, from a native thread and over connections of their own: a process whose event
 * loop or programs are busy still gives them. Rank 0 listens to all others; each of the others listens to rank 0.
 */
import { native, type PulseListener } from './native.js'

/** How far a process is. */
interface PulseState {
  /** Milliseconds since anything came from it. */
  readonly heardMs: number
  /** Collectives that it has begun, and finished. */
  readonly begun: number
  readonly finished: number
  /** Milliseconds since its event loop turned. */
  readonly loopMs: number
}

interface PulseOptions {
  /** The same for all processes of a job; others are not heard. */
  readonly token: string
  /** A process that gives no sign for this time is lost. */
  readonly limitMs: number
  readonly onEvent: PulseListener
}

export class Pulse {
  private readonly timer: NodeJS.Timeout

  private constructor(
    private readonly ref: number,
    limitMs: number,
  ) {
    this.timer = setInterval(() => native.pulseTick(ref), Math.max(20, Math.min(1000, limitMs / 10))).unref()
  }

  /** Rank 0: hears the others on this address. */
  static serve({ host, token, limitMs, onEvent }: PulseOptions & { readonly host: string }): Pulse {
    return new Pulse(native.pulseServe(host, token, limitMs, onEvent), limitMs)
  }

  /**
   * The other ranks. When rank 0 is gone, is silent or has stopped the job, this process has two seconds to end by itself, and is ended then,
   * whatever it is doing.
   */
  static join(options: PulseOptions & { readonly host: string; readonly port: number; readonly rank: number }): Pulse {
    const { host, port, token, rank, limitMs, onEvent } = options
    return new Pulse(native.pulseJoin(host, port, token, rank, limitMs, onEvent), limitMs)
  }

  /** Of rank 0: where it listens. */
  get port(): number {
    return native.pulsePort(this.ref)
  }

  /** Lines of this rank's standard error, for rank 0. */
  say(words: string): void {
    native.pulseSay(this.ref, words)
  }

  /** What is known of a rank; undefined for one that has never been heard. */
  look(rank: number): PulseState | undefined {
    const [heardMs, begun, finished, loopMs] = native.pulseLook(this.ref, rank).split(' ').map(Number)
    if (begun === undefined) return undefined
    return { heardMs: heardMs!, begun, finished: finished!, loopMs: loopMs! }
  }

  /** The others are told that all is well, or why they have to end. */
  close(reason = ''): void {
    clearInterval(this.timer)
    native.pulseClose(this.ref, reason)
  }
}

/** This process is killed when its parent ends, however that ends (Linux). Answers with the process id of the parent. */
export const endWithParent = (): number => native.endWithParent()
