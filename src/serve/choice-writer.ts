/**
 * Writes the tokens of choices as server-sent events. All tokens of a choice since its last event become one event: usually one token,
 * more where the client reads slowly, so a slow client delays no other and needs little memory.
 */
import type { ServerResponse } from 'node:http'
import type { Sample, TokenEvent } from '../rollout/index.js'
import { untilDrained, type WriteOptions } from './write-json.js'

export interface Chunk {
  index: number
  /** Empty where a cancelled choice ends without a token. */
  events: readonly TokenEvent[]
  /** With the last token. */
  sample: Sample | undefined
  /** The first event of this choice. */
  first: boolean
  /** How many tokens of this choice came before. */
  start: number
}

/** Most tokens of one event. */
const mostTokens = 64

interface Said {
  events: TokenEvent[]
  sample: Sample | undefined
}

export class ChoiceWriter {
  private readonly said = new Map<number, Said>()
  /** Tokens written of each choice. */
  private readonly written = new Map<number, number>()
  /** Something is waiting or being written. */
  private isBusy = false
  private readonly whenIdle: (() => void)[] = []
  private failure: unknown

  constructor(
    private readonly stream: EventStream,
    private readonly show: (chunk: Chunk) => object | Promise<object>,
  ) {}

  /** Adds to what the choice has not written yet. */
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
    // At the end of the turn: the last token and the end of its sample become one event.
    setImmediate(() => this.write())
  }

  /** Resolves when everything is written. Throws the error of an event that could not be made. */
  async finished(): Promise<void> {
    while (this.isBusy) await new Promise<void>(resolve => this.whenIdle.push(resolve))
    if (this.failure !== undefined) throw this.failure
  }

  /** Makes no promise where nothing has to be waited for: this runs for every token. */
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

  /** A promise where the client or a text has to be waited for; later tokens are written after it. */
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

/** Writes server-sent events. */
export class EventStream {
  private pending = ''

  constructor(
    private readonly response: ServerResponse,
    private readonly options: WriteOptions,
  ) {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  }

  /** The client has gone. */
  get isClosed(): boolean {
    return this.response.destroyed || this.options.signal.aborted
  }

  /** Sent with the next `flush`. */
  add(event: object): void {
    this.pending += `data: ${JSON.stringify(event)}\n\n`
  }

  /** A promise where the client must read before more is written. */
  flush(): Promise<void> | undefined {
    const { pending, response } = this
    this.pending = ''
    if (pending === '' || this.isClosed || response.write(pending)) return undefined
    return untilDrained(response, this.options)
  }

  end(): void {
    if (this.isClosed) return
    this.response.end(`${this.pending}data: [DONE]\n\n`)
    this.pending = ''
  }
}
