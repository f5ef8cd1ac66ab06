/** The order of an epoch, from seed, epoch and weights alone, without a list in memory. Pure. */
import { Permutation } from './shuffle.js'

interface OrderOptions {
  /** Examples of each source, and how often an epoch visits them. */
  readonly sources: readonly { readonly size: number; readonly weight: number }[]
  readonly seed: number
  readonly shuffle: boolean
}

export interface Visit {
  readonly source: number
  /** Among the examples of its source. */
  readonly place: number
  /** How often the epoch's list has it before. */
  readonly copy: number
}

export class EpochOrder {
  /** Visits of an epoch; the same for each. */
  readonly size: number
  readonly #visits: readonly number[]
  #epoch: { readonly number: number; readonly order: Permutation } | undefined

  constructor(private readonly options: OrderOptions) {
    this.#visits = options.sources.map(({ size, weight }) => (size === 0 ? 0 : Math.max(1, Math.round(size * weight))))
    this.size = this.#visits.reduce((sum, visits) => sum + visits, 0)
  }

  at(epoch: number, position: number): Visit {
    let place = this.options.shuffle ? this.#order(epoch).at(position) : position
    let source = 0
    while (place >= this.#visits[source]!) place -= this.#visits[source++]!
    const { size } = this.options.sources[source]!
    const whole = Math.floor(this.#visits[source]! / size)
    const copy = Math.floor(place / size)
    if (copy < whole) return { source, place: place % size, copy }
    // A fractional weight continues where the last epoch stopped, so that every row is used.
    const part = this.#visits[source]! % size
    const next = (epoch * part + (place % size)) % size
    return { source, place: this.options.shuffle ? this.#parts(source).at(next) : next, copy }
  }

  #order(epoch: number): Permutation {
    if (this.#epoch?.number !== epoch)
      this.#epoch = { number: epoch, order: new Permutation(this.size, `${this.options.seed}/epoch/${epoch}`) }
    return this.#epoch.order
  }

  #parts(source: number): Permutation {
    return new Permutation(this.options.sources[source]!.size, `${this.options.seed}/source/${source}`)
  }
}
