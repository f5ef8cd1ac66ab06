/** Faults of environments: they end an attempt, and are never a reward. */
import { onAbort } from '../errors/index.js'
import { Watch } from '../watchdog/index.js'
import type { FailurePlace } from './episode.js'

/** How long code of an environment may hold the process, at least: then the watchdog ends the process. */
const leastHoldMs = 60_000
/** While such code waits, an engine or an update in this process may hold it for long. */
const leastWaitingHoldMs = 600_000

/** Thrown at the time limit of the episode. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
}

export class Fault extends Error {
  override readonly name = 'Fault'
  constructor(
    readonly at: FailurePlace,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options)
  }

  /** Work whose errors are faults at a place. */
  static async at<T>(place: FailurePlace, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw error instanceof Fault ? error : new Fault(place, messageOf(error), { cause: error })
    }
  }

  /**
   * Work with a time limit. Whatever ends first decides: the work, its limit (a fault), or the signal, whose reason is thrown as it is. An
   * answer that comes later is not used; work that fails at once when it is stopped says what it waited for.
   */
  static within<T>(
    options: {
      readonly at: FailurePlace
      readonly what: string
      readonly milliseconds: number
      readonly signal: AbortSignal
    },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { at, what, milliseconds, signal } = options
    return new Promise<T>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const limited = new AbortController()
      let release = (): void => {}
      let over = false
      const end = (settle: () => void): void => {
        over = true
        clearTimeout(timer)
        unlink()
        release()
        settle()
      }
      const unlink = onAbort(signal, () =>
        end(() => {
          limited.abort(signal.reason)
          reject(signal.reason)
        }),
      )
      let late: Fault | undefined
      const timer = setTimeout(() => {
        late = new Fault(at, `${what}: no answer within ${milliseconds / 1000} seconds`)
        limited.abort(late)
        setImmediate(() => end(() => reject(late)))
      }, milliseconds)
      const holds = [leastHoldMs, leastWaitingHoldMs].map(least => Math.max(milliseconds, least))
      const watched = new Watch(what, holds[0]!, holds[1]).call(async () => work(limited.signal))
      release = watched.release
      if (over) release()
      watched.answer.then(
        value => late ?? end(() => resolve(value)),
        error =>
          end(() =>
            reject(late ? late.because(error) : new Fault(at, `${what}: ${messageOf(error)}`, { cause: error })),
          ),
      )
    })
  }

  /** A time limit, with what the stopped work says that it waited for. */
  private because(error: unknown): Fault {
    const said = messageOf(error)
    const isOwn = !said.includes(this.message) && (error as Error)?.name !== 'AbortError'
    return isOwn ? new Fault(this.at, `${this.message}: ${said}`, { cause: error }) : this
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
