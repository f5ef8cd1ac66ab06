/**
 * The other end of a connection between ranks. Either side opens exchanges: a call, parts in both directions, and one answer.
 * Exchanges of one connection run side by side; their frames arrive in the order they were sent.
 */
import type { Socket } from 'node:net'
import { errorFromWire, errorToWire, LostConnectionError, RankError, type WireError } from './errors.js'
import { encodeFrame, type Frame, FrameReader, type Part, type WireArray } from './frames.js'

/** One side of a call that is under way. */
export interface Exchange {
  /** Sends a part to the other side. */
  send(body: unknown, arrays?: readonly WireArray[]): void
  /** The next part of the other side; undefined when it has answered. */
  next(): Promise<Part | undefined>
}

/** What the side that was called has. */
export interface IncomingCall extends Part, Exchange {
  /** Aborted when the caller no longer wants the answer, or is gone. */
  readonly signal: AbortSignal
}

/** Does what a call asks for; what it returns is the answer. */
export type Handler = (call: IncomingCall) => Promise<Partial<Part> | undefined>
export type Handlers = Readonly<Record<string, Handler>>
/** The handler of a command; undefined where there is none. */
type HandlerOf = (op: string) => Handler | undefined

/** What the caller has. */
interface OutgoingCall extends Exchange {
  /** The answer, or the other side's error. */
  readonly done: Promise<Part>
}

interface CallOptions {
  readonly arrays?: readonly WireArray[]
  readonly signal?: AbortSignal | undefined
}

export class Peer {
  /** When the last frame came, by `performance.now()`. */
  heardAt = performance.now()
  /** Why the connection ended. */
  failure: Error | undefined
  private nextId = 1
  private readonly outgoing = new Map<number, Conversation>()
  private readonly incoming = new Map<number, { conversation: Conversation; abort: AbortController }>()
  private readonly lost = new Set<(error: Error) => void>()

  constructor(
    private readonly socket: Socket,
    /** As errors name it: `rank 3 (host, cuda:1)`. */
    public name: string,
    private readonly handlerOf: HandlerOf = () => undefined,
  ) {
    socket.setNoDelay(true)
    const reader = new FrameReader(frame => this.take(frame))
    socket.on('data', chunk => {
      this.heardAt = performance.now()
      try {
        reader.push(chunk)
      } catch (cause) {
        this.fail(new RankError(`${this.name} sent what is not a message`, { cause }))
      }
    })
    socket.on('error', cause =>
      this.fail(new LostConnectionError(`${this.name}: the connection broke (${cause.message})`, { cause })),
    )
    socket.on('close', () => this.fail(new LostConnectionError(`${this.name} has closed its connection`)))
  }

  /** That went over the connection so far, in both directions. */
  get bytes(): number {
    return this.socket.bytesRead + this.socket.bytesWritten
  }

  /** Called once, when the connection has ended, with why. */
  onLost(listener: (error: Error) => void): void {
    if (this.failure) listener(this.failure)
    else this.lost.add(listener)
  }

  call(op: string, body: unknown, { arrays = [], signal }: CallOptions = {}): OutgoingCall {
    const id = this.nextId++
    const conversation = new Conversation((body, arrays) => this.write({ id, kind: 'part', body, arrays }))
    if (this.failure) conversation.fail(this.failure)
    else if (signal?.aborted) conversation.fail(signal.reason)
    else {
      this.outgoing.set(id, conversation)
      this.write({ id, kind: 'call', op, body, arrays })
      const abort = (): void => this.write({ id, kind: 'abort', body: null, arrays: [] })
      signal?.addEventListener('abort', abort, { once: true })
      const forget = (): void => {
        this.outgoing.delete(id)
        signal?.removeEventListener('abort', abort)
      }
      conversation.done.then(forget, forget)
    }
    return conversation
  }

  /** As `call`, for calls of one question and one answer. */
  ask(op: string, body: unknown, options?: CallOptions): Promise<Part> {
    return this.call(op, body, options).done
  }

  /** An empty frame, so that the other side hears of this one. */
  beat(): void {
    this.write({ id: 0, kind: 'beat', body: null, arrays: [] })
  }

  /** Ends the connection: everything under way is given up with this error. */
  fail(error: Error): void {
    if (this.failure) return
    this.failure = error
    this.socket.destroy()
    for (const conversation of this.outgoing.values()) conversation.fail(error)
    for (const { conversation, abort } of this.incoming.values()) {
      conversation.fail(error)
      abort.abort(error)
    }
    for (const listener of this.lost) listener(error)
    this.lost.clear()
  }

  /** Ends the connection after what was sent has gone out. */
  async end(): Promise<void> {
    if (this.failure) return
    this.lost.clear()
    await new Promise<void>(resolve => this.socket.end(resolve))
    this.fail(new RankError(`the connection to ${this.name} was closed`))
  }

  private write(frame: Frame): void {
    if (this.failure) return
    this.socket.cork()
    for (const piece of encodeFrame(frame)) this.socket.write(piece)
    this.socket.uncork()
  }

  /** Frames of the side that called have the id of the call; those of the other side its negative. */
  private take(frame: Frame): void {
    const { id, kind } = frame
    if (kind === 'beat') return
    if (kind === 'call') {
      void this.answer(frame)
      return
    }
    if (kind === 'abort') {
      const call = this.incoming.get(id)
      const reason = new DOMException('the caller gave up', 'AbortError')
      call?.abort.abort(reason)
      call?.conversation.fail(reason)
      return
    }
    // What comes after the answer belongs to nothing any more.
    const conversation = id > 0 ? this.incoming.get(id)?.conversation : this.outgoing.get(-id)
    if (kind === 'part') conversation?.take(frame)
    else if (kind === 'done') conversation?.finish(frame)
    else conversation?.fail(errorFromWire(frame.body as WireError, this.name))
  }

  private async answer({ id, op = '', body, arrays }: Frame): Promise<void> {
    const conversation = new Conversation((body, arrays) => this.write({ id: -id, kind: 'part', body, arrays }))
    const abort = new AbortController()
    this.incoming.set(id, { conversation, abort })
    try {
      const handler = this.handlerOf(op)
      if (!handler) throw new RankError(`there is no command ${JSON.stringify(op)}; the ranks run different versions`)
      const answer = await handler({
        ...{ body, arrays, signal: abort.signal },
        send: (part, more) => conversation.send(part, more),
        next: () => conversation.next(),
      })
      this.write({ id: -id, kind: 'done', body: answer?.body ?? null, arrays: answer?.arrays ?? [] })
    } catch (error) {
      this.write({ id: -id, kind: 'failed', body: errorToWire(error), arrays: [] })
    } finally {
      this.incoming.delete(id)
    }
  }
}

/** Parts that have come and are not read yet, and the answer. */
class Conversation implements OutgoingCall {
  readonly done: Promise<Part>
  private readonly parts: Part[] = []
  private wake: (() => void) | undefined
  private over = false
  private settle!: { resolve: (part: Part) => void; reject: (error: unknown) => void }

  constructor(private readonly write: (body: unknown, arrays: readonly WireArray[]) => void) {
    this.done = new Promise((resolve, reject) => {
      this.settle = { resolve, reject }
    })
    // Who reads parts may come to the answer late.
    this.done.catch(() => {})
  }

  send(body: unknown, arrays: readonly WireArray[] = []): void {
    this.write(body, arrays)
  }

  take(part: Part): void {
    this.parts.push(part)
    this.wake?.()
  }

  finish(part: Part): void {
    this.settle.resolve(part)
    this.end()
  }

  fail(error: unknown): void {
    this.settle.reject(error)
    this.end()
  }

  async next(): Promise<Part | undefined> {
    while (this.parts.length === 0) {
      if (this.over) {
        // An error is the reader's too: a worker that waits for the controller must not wait for ever.
        await this.done
        return undefined
      }
      await new Promise<void>(resolve => {
        this.wake = resolve
      })
    }
    return this.parts.shift()
  }

  private end(): void {
    this.over = true
    this.wake?.()
  }
}
