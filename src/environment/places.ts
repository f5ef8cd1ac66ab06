/** Places for episodes: all rollouts and evaluations of a run share them. */
import { onAbort } from '../errors/index.js'

export class Places {
  readonly #waiting: { readonly order: number; readonly enter: () => void }[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a place. A free place goes to the lowest `order`, and there to the one that asked first. Returns what gives the place back. */
  async take(order: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else
      await new Promise<void>((resolve, reject) => {
        const one = {
          order,
          enter: () => {
            unlink()
            resolve()
          },
        }
        const unlink = onAbort(signal, () => {
          this.#waiting.splice(this.#waiting.indexOf(one), 1)
          reject(signal.reason)
        })
        const older = this.#waiting.findLastIndex(other => other.order <= order)
        this.#waiting.splice(older + 1, 0, one)
      })
    return () => {
      const next = this.#waiting.shift()
      if (next) next.enter()
      else this.#free++
    }
  }
}
