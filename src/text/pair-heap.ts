/** A pair of adjacent symbols waiting to be merged, with the count it had when it was put in. */
interface PairEntry {
  readonly key: number
  readonly count: number
}

/**
 * A binary heap: highest count first, ties by `compareKeys`. Counts change while entries wait; the owner notices a stale
 * entry when it comes out and puts it back with the count it now has.
 */
export class PairHeap {
  readonly #entries: PairEntry[] = []
  readonly #compareKeys: (a: number, b: number) => number

  constructor(compareKeys: (a: number, b: number) => number) {
    this.#compareKeys = compareKeys
  }

  push(entry: PairEntry): void {
    const entries = this.#entries
    let at = entries.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(entry, entries[parent]!)) break
      entries[at] = entries[parent]!
      at = parent
    }
    entries[at] = entry
  }

  pop(): PairEntry | undefined {
    const entries = this.#entries
    const top = entries[0]
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return top
    let at = 0
    for (let child = 1; child < entries.length; child = 2 * at + 1) {
      if (child + 1 < entries.length && this.#before(entries[child + 1]!, entries[child]!)) child++
      if (!this.#before(entries[child]!, last)) break
      entries[at] = entries[child]!
      at = child
    }
    entries[at] = last
    return top
  }

  #before(a: PairEntry, b: PairEntry): boolean {
    return a.count !== b.count ? a.count > b.count : this.#compareKeys(a.key, b.key) < 0
  }
}
