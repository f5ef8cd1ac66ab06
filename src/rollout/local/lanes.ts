/**
 * The waiting sequences of each caller, and the caller that is next. A turn has a few sequences: with one at a time, the samples of a prompt would
 * start one after another, and its blocks would be held for long. Pure.
 */
import type { CachedSequence, Lane } from './cached-sequence.js'

export class Lanes<S extends CachedSequence> {
  /** Waiting sequences of all callers. */
  waiting = 0
  private readonly byCaller = new Map<object, Lane>()
  /** Lanes with waiting sequences, in the order of their turns. */
  private readonly queue: Lane[] = []

  constructor(
    /** Most sequences of a turn. */
    readonly quantum: number,
  ) {}

  /** Callers with waiting or running sequences. */
  get count(): number {
    return this.byCaller.size
  }

  add(sequence: S, caller: object): void {
    let lane = this.byCaller.get(caller)
    if (!lane) {
      lane = { caller, waiting: [], running: 0, served: 0, passed: 0 }
      this.byCaller.set(caller, lane)
    }
    sequence.lane = lane
    this.enqueue(sequence, 'last')
  }

  enqueue(sequence: S, place: 'first' | 'last'): void {
    const lane = sequence.lane!
    if (lane.waiting.length === 0) this.queue.push(lane)
    if (place === 'last') lane.waiting.push(sequence)
    else lane.waiting.unshift(sequence)
    this.waiting++
    sequence.state = 'waiting'
  }

  dequeue(sequence: S, at = sequence.lane!.waiting.indexOf(sequence)): void {
    const lane = sequence.lane!
    lane.waiting.splice(at, 1)
    if (lane.waiting.length === 0) this.queue.splice(this.queue.indexOf(lane), 1)
    this.waiting--
  }

  /** A waiting sequence gets a place. */
  start(sequence: S, at: number): void {
    const lane = sequence.lane!
    this.dequeue(sequence, at)
    lane.running++
    lane.served++
    lane.passed = 0
    sequence.state = 'running'
  }

  /** Removes a caller without sequences. */
  leave({ caller, running, waiting }: Lane): void {
    if (running === 0 && waiting.length === 0) this.byCaller.delete(caller)
  }

  /** The caller that is next. A caller that had its turn goes to the end. */
  turn(): Lane | undefined {
    for (;;) {
      const [first] = this.queue
      if (!first || first.served < this.quantum || this.queue.length === 1) return first
      first.served = 0
      this.queue.push(this.queue.shift()!)
    }
  }

  /** The caller that is next, if none of its sequences runs but those of others do. */
  newcomer(): Lane | undefined {
    const lane = this.count > 1 ? this.turn() : undefined
    return lane?.running === 0 ? lane : undefined
  }

  /** The next caller that is not passed over and has more sequences than `places` are kept for it. */
  next(places: ReadonlyMap<Lane, number>, passedOver: ReadonlySet<Lane>): Lane | undefined {
    this.turn()
    let first: Lane | undefined
    for (const lane of this.queue) {
      const kept = places.get(lane) ?? 0
      if (kept >= lane.waiting.length || passedOver.has(lane)) continue
      if (lane.served + kept < this.quantum) return lane
      first ??= lane
    }
    return first
  }
}
