/** Examples in the order of an epoch; the next ones are read and encoded while the last are in use. */
import type { Encoded } from './encode.js'
import type { EpochOrder, Visit } from './epoch-order.js'
import { DataError } from './errors.js'
import type { DataCursor, ExampleCounts, ExampleSet, ExampleStream } from './types.js'

/** Bytes of rows that are read ahead at most; one row is always read. */
const aheadBytes = 32 * 2 ** 20
/** Examples that are read ahead where a caller takes them one at a time. */
const fewest = 32

export interface ExampleSource<E> {
  readonly order: EpochOrder
  load(visit: Visit): Promise<Encoded<E>>
  bytesOf(visit: Visit): number
}

interface Ahead<E> {
  readonly epoch: number
  readonly position: number
  readonly bytes: number
  readonly loading: Promise<Encoded<E>>
}

export class Counts implements ExampleCounts {
  truncated = 0
  readonly dropped: Record<string, number> = {}
  firstDropped: string | undefined

  /** The example, or undefined for one that was dropped. */
  note<E>(encoded: Encoded<E>): E | undefined {
    if (encoded.kind === 'dropped') {
      this.dropped[encoded.reason] = (this.dropped[encoded.reason] ?? 0) + 1
      this.firstDropped ??= encoded.message
      return undefined
    }
    if (encoded.truncated) this.truncated++
    return encoded.example
  }
}

/** The error for an epoch in which every example was dropped. */
export function whyEmpty({ dropped, firstDropped }: ExampleCounts): string {
  const reasons = Object.entries(dropped).map(([reason, count]) => `${reason} ${count}`)
  const advice = dropped.overlong === undefined ? '' : '; raise maxLength, or shorten the rows'
  return `every example is skipped (${reasons.join(', ')}; the first: ${firstDropped})${advice}`
}

export class ShuffledStream<E> implements ExampleStream<E> {
  readonly counts = new Counts()
  #ahead: Ahead<E>[] = []
  #aheadBytes = 0
  #cursor: DataCursor = { epoch: 0, position: 0 }
  /** Examples of the epoch so far, where it was followed from its beginning. */
  #given = 0

  constructor(private readonly source: ExampleSource<E>) {}

  get size(): number {
    return this.source.order.size
  }

  get cursor(): DataCursor {
    return this.#cursor
  }

  seek({ epoch, position }: DataCursor): void {
    if (!Number.isInteger(epoch) || epoch < 0 || !Number.isInteger(position) || position < 0 || position >= this.size)
      throw new DataError(
        `epoch ${epoch} has no example ${position}: the data has ${this.size} examples; it has changed since the run started`,
      )
    this.#cursor = { epoch, position }
    this.#ahead = []
    this.#aheadBytes = 0
    // Only the existence of earlier examples is known, not their count.
    this.#given = position === 0 ? 0 : 1
  }

  from(cursor: DataCursor): ExampleStream<E> {
    const other = new ShuffledStream(this.source)
    other.seek(cursor)
    return other
  }

  async take(count: number): Promise<readonly E[]> {
    if (!Number.isInteger(count) || count < 1)
      throw new RangeError(`expected a number of examples to take, got ${count}`)
    const start = this.#cursor
    try {
      const taken = await this.#take(count)
      this.#fill(Math.max(fewest, count))
      return taken
    } catch (error) {
      // A retry gets the same examples as this call.
      this.seek(start)
      throw error
    }
  }

  async #take(count: number): Promise<E[]> {
    const taken: E[] = []
    let { epoch } = this.#cursor
    while (taken.length < count && this.#cursor.epoch === epoch) {
      this.#fill(count - taken.length + Math.max(fewest, count))
      const example = this.counts.note(await this.#next())
      if (example !== undefined) {
        taken.push(example)
        this.#given++
      }
      this.#advance()
      // If the rest of an epoch was dropped, these are the first of the next epoch.
      if (taken.length === 0) epoch = this.#cursor.epoch
    }
    return taken
  }

  #next(): Promise<Encoded<E>> {
    const { bytes, loading } = this.#ahead.shift()!
    this.#aheadBytes -= bytes
    return loading
  }

  #advance(): void {
    const { epoch, position } = this.#cursor
    if (position + 1 < this.size) {
      this.#cursor = { epoch, position: position + 1 }
      return
    }
    if (this.#given === 0) throw new DataError(`data: ${whyEmpty(this.counts)}`)
    this.#given = 0
    this.#cursor = { epoch: epoch + 1, position: 0 }
  }

  #fill(wanted: number): void {
    // A call takes from one epoch only, so at most two epochs are prepared.
    const most = Math.min(wanted, 2 * this.size)
    const last = this.#ahead.at(-1)
    let next = last ? this.#after(last) : this.#cursor
    while (this.#ahead.length < most && (this.#ahead.length === 0 || this.#aheadBytes < aheadBytes)) {
      const visit = this.source.order.at(next.epoch, next.position)
      const bytes = this.source.bytesOf(visit)
      const loading = this.source.load(visit)
      // Awaited later; prevent an unhandled rejection until then.
      loading.catch(() => {})
      this.#ahead.push({ ...next, bytes, loading })
      this.#aheadBytes += bytes
      next = this.#after(next)
    }
  }

  #after({ epoch, position }: DataCursor): DataCursor {
    return position + 1 < this.size ? { epoch, position: position + 1 } : { epoch: epoch + 1, position: 0 }
  }
}

export class FixedSet<E> implements ExampleSet<E> {
  readonly counts = new Counts()

  constructor(private readonly source: ExampleSource<E>) {}

  get size(): number {
    return this.source.order.size
  }

  async *parts(count: number): AsyncGenerator<readonly E[]> {
    const { size } = this.source.order
    let part: E[] = []
    let next = this.#load(0)
    for (let from = 0; from < size; from += fewest) {
      const loaded = await next
      // Load the next ones while the caller uses the ones yielded below.
      next = this.#load(from + fewest)
      for (const encoded of loaded) {
        const example = this.counts.note(encoded)
        if (example !== undefined) part.push(example)
        if (part.length < count) continue
        yield part
        part = []
      }
    }
    if (part.length > 0) yield part
  }

  #load(from: number): Promise<Encoded<E>[]> {
    const { order } = this.source
    const places = Array.from({ length: Math.max(0, Math.min(fewest, order.size - from)) }, (_, i) => from + i)
    const loading = Promise.all(places.map(place => this.source.load(order.at(0, place))))
    // Awaited later; prevent an unhandled rejection until then.
    loading.catch(() => {})
    return loading
  }
}
