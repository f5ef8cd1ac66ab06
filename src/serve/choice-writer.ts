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
}

/** Tokens of one event at most. */
const mostTokens = 64

interface Said {
  events: TokenEvent[]
  sample: Sample | undefined
}

export class ChoiceWriter {
  private said = new Map<number, Said>()
  private readonly started = new Set<number>()
  private writing: Promise<void> | undefined
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
    this.writing ??= this.write()
  }

  /** Resolves when everything is written; throws what an event could not be made for. */
  async finished(): Promise<void> {
    while (this.writing) await this.writing
    if (this.failure !== undefined) throw this.failure
  }

  private async write(): Promise<void> {
    // At the end of the turn: if a token was the last, that is said with it.
    await new Promise(resolve => setImmediate(resolve))
    try {
      while (this.said.size > 0 && !this.stream.isClosed) {
        const all = this.said
        this.said = new Map()
        // Waited for only where there is something to wait for: this runs for every token.
        for (const [index, said] of all) {
          const written = said.events.length > mostTokens ? this.writeLong(index, said) : this.writeOne(index, said)
          if (written) await written
        }
        const taken = this.stream.flush()
        if (taken) await taken
      }
    } catch (error) {
      this.failure = error
    }
    // Here and not when the promise is settled: a token in between would wait for the next.
    this.writing = undefined
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
    const first = !this.started.has(index)
    if (first) this.started.add(index)
    const shown = this.show({ index, events, sample, first })
    if (shown instanceof Promise) return shown.then(event => this.stream.add(event))
    this.stream.add(shown)
    return undefined
  }
}
