/**
 * The events of a stream as choices speak. What a choice has said since its last event is one event: usually a token, more
 * where a client reads slowly, which so holds up nobody and has nothing waiting for it but the tokens themselves.
 */
import type { Sample, TokenEvent } from '../rollout/index.js'
import type { EventStream } from './event-stream.js'

export interface Chunk {
  index: number
  /** None where a choice ends without a token, cancelled. */
  events: readonly TokenEvent[]
  /** With the last token. */
  sample: Sample | undefined
  /** Of this choice. */
  first: boolean
  /** How many tokens of this choice came before. */
  start: number
}

/** Tokens of one event at most. */
const mostTokens = 64

interface Said {
  events: TokenEvent[]
  sample: Sample | undefined
}

export class ChoiceWriter {
  private readonly said = new Map<number, Said>()
  /** Tokens written of each choice. */
  private readonly written = new Map<number, number>()
  /** From the first thing said to the end of its writing. */
  private isBusy = false
  private readonly whenIdle: (() => void)[] = []
  private failure: unknown

  constructor(
    private readonly stream: EventStream,
    private readonly show: (chunk: Chunk) => object | Promise<object>,
  ) {}

  /** What is added to the last that the choice said and that is not written yet. */
  add(index: number, { events = [], sample }: { events?: readonly TokenEvent[]; sample?: Sample }): void {
    let said = this.said.get(index)
    if (!said) {
      said = { events: [], sample: undefined }
      this.said.set(index, said)
    }
    for (const event of events) said.events.push(event)
    said.sample ??= sample
    if (this.isBusy) return
    this.isBusy = true
    // At the end of the turn: if a token was the last, that is said with it.
    setImmediate(() => this.write())
  }

  /** Resolves when everything is written; throws what an event could not be made for. */
  async finished(): Promise<void> {
    while (this.isBusy) await new Promise<void>(resolve => this.whenIdle.push(resolve))
    if (this.failure !== undefined) throw this.failure
  }

  /** Without a promise where there is nothing to wait for: this runs for every token. */
  private write(): void {
    try {
      const waits = this.writeSaid()
      if (waits)
        void waits.then(
          () => this.write(),
          error => this.rest(error),
        )
      else this.rest(undefined)
    } catch (error) {
      this.rest(error)
    }
  }

  private rest(failure: unknown): void {
    this.failure ??= failure
    this.isBusy = false
    for (const wake of this.whenIdle.splice(0)) wake()
  }

  /** A promise where the client or a text has to be waited for; what is said meanwhile is written after it. */
  private writeSaid(): Promise<void> | undefined {
    const all = [...this.said]
    this.said.clear()
    if (this.stream.isClosed) return undefined
    for (const [i, [index, said]] of all.entries()) {
      const waits = this.writeChoice(index, said)
      if (waits) return this.writeRest(waits, all.slice(i + 1))
    }
    return this.stream.flush()
  }

  private async writeRest(first: Promise<void>, rest: readonly [number, Said][]): Promise<void> {
    await first
    for (const [index, said] of rest) await this.writeChoice(index, said)
    await this.stream.flush()
  }

  private writeChoice(index: number, said: Said): Promise<void> | undefined {
    return said.events.length > mostTokens ? this.writeLong(index, said) : this.writeOne(index, said)
  }

  private async writeLong(index: number, { events, sample }: Said): Promise<void> {
    for (let at = 0; at < events.length; at += mostTokens) {
      const isLast = at + mostTokens >= events.length
      const some = events.slice(at, at + mostTokens)
      await this.writeOne(index, { events: some, sample: isLast ? sample : undefined })
      await this.stream.flush()
    }
  }

  private writeOne(index: number, { events, sample }: Said): Promise<void> | undefined {
    const before = this.written.get(index)
    const start = before ?? 0
    this.written.set(index, start + events.length)
    const shown = this.show({ index, events, sample, first: before === undefined, start })
    if (shown instanceof Promise) return shown.then(event => this.stream.add(event))
    this.stream.add(shown)
    return undefined
  }
}
