/** The HTTP side of the protocol doubles: an address that may be up or down, routes, streams, and faults on the way. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type AnswerSpoiling, type Fault, FaultPlan, type PlannedFault, spoiled } from './engine-faults.js'
import type { ToyEngine, ToyRequest, ToySequence } from './toy-engine.js'

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: unknown
  readonly headers: IncomingMessage['headers']
  readonly fault: Fault | undefined
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal
}

export type Reply =
  | { status: number; json: unknown }
  | { status: number; text: string }
  /** Events, until the promise resolves. */
  | { events: (send: (event: unknown) => void) => Promise<void> }

export type Route = (exchange: Exchange) => Reply | Promise<Reply>

export abstract class EngineServer {
  /** Every request there was. */
  readonly received: { method: string; path: string; body: unknown }[] = []
  engine: ToyEngine
  private readonly faults = new FaultPlan()
  private server: Server | undefined
  private readonly sockets = new Set<Socket>()
  private port = 0
  /** When its process began, and how many connections it ever had. */
  protected startedAt = nextStart()
  connections = 0

  protected constructor(private readonly makeEngine: () => ToyEngine) {
    this.engine = makeEngine()
  }

  protected abstract readonly routes: Readonly<Record<string, Route>>
  protected abstract readonly generating: readonly string[]
  protected abstract readonly spoilers: Readonly<Record<AnswerSpoiling, (answer: unknown) => unknown>>
  /** What answers before the routes do: keys, bodies that are no JSON. */
  protected abstract guard(exchange: Exchange): Reply | undefined

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Listens, always at the same port. */
  async start(): Promise<this> {
    const server = createServer((request, response) => void this.serve(request, response))
    // As both servers do.
    server.keepAliveTimeout = 5000
    server.on('connection', socket => {
      this.connections++
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
    })
    this.engine.onDeath = () => void this.stop()
    await new Promise<void>(resolve => server.listen(this.port, '127.0.0.1', resolve))
    this.port = (server.address() as AddressInfo).port
    this.server = server
    return this
  }

  /** From here on connections are refused; what is under way is lost. */
  async stop(): Promise<void> {
    const { server } = this
    this.server = undefined
    this.engine.abort(() => true)
    for (const socket of this.sockets) socket.destroy()
    if (server) await new Promise<void>(resolve => server.close(() => resolve()))
  }

  /** A new process in its place, with the weights of its first day. */
  async restart(): Promise<void> {
    await this.stop()
    const { msPerToken } = this.engine
    this.engine = this.makeEngine()
    this.startedAt = nextStart()
    this.engine.msPerToken = msPerToken
    await this.start()
  }

  /** Plans a fault. */
  fault(fault: Fault, where: Omit<PlannedFault, 'fault'> = {}): void {
    this.faults.plan({ fault, ...where })
  }

  clearFaults(): void {
    this.faults.clear()
  }

  /** How often a path was asked. */
  count(path: string): number {
    return this.received.filter(one => one.path === path).length
  }

  /** Starts a sequence, with what the exchange's fault does to it. `look`: how soon the client's going is noticed. */
  protected submit(request: ToyRequest, { fault, gone }: Exchange, look = 0): ToySequence {
    const { onToken } = request
    const sequence = this.engine.submit({
      ...request,
      onToken: current => {
        if (fault?.kind === 'abort' && current.tokens.length >= fault.tokens)
          current.end({ reason: 'abort', matched: undefined })
        onToken?.(current)
      },
    })
    const { engine } = this
    gone.addEventListener('abort', () => {
      setTimeout(() => engine.abort(id => id === request.id), look).unref()
    })
    return sequence
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const chunks: Buffer[] = []
    const gone = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const text = Buffer.concat(chunks).toString()
    const body = parsed(text)
    const { method = 'GET' } = request
    this.received.push({ method, path: url.pathname, body })
    const fault = this.faults.take({ path: url.pathname, body, generates: this.generating.includes(url.pathname) })
    const { headers } = request
    const exchange = { method, path: url.pathname, query: url.searchParams, body, headers, fault, gone: gone.signal }
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'reset') {
      request.socket.destroy()
      return
    }
    const reply = await this.reply(exchange)
    if (gone.signal.aborted) return
    if ('events' in reply) await this.stream(reply.events, exchange, response)
    else this.whole(reply, exchange, response)
  }

  private async reply(exchange: Exchange): Promise<Reply> {
    const { fault, method, path } = exchange
    if (fault?.kind === 'status') return { status: fault.status, json: fault.body ?? { error: { message: 'a fault' } } }
    const refused = this.guard(exchange)
    if (refused) return refused
    const route = this.routes[`${method} ${path}`]
    if (route) return route(exchange)
    const known = Object.keys(this.routes).some(name => name.endsWith(` ${path}`))
    return known
      ? { status: 405, json: { detail: 'Method Not Allowed' } }
      : { status: 404, json: { detail: 'Not Found' } }
  }

  private whole(reply: Exclude<Reply, { events: unknown }>, { fault }: Exchange, response: ServerResponse): void {
    const json = 'json' in reply
    const sound = json ? JSON.stringify(reply.json) : reply.text
    const text = json && fault?.kind === 'spoil' ? spoiled(reply.json, fault.how, this.spoilers) : sound
    response.statusCode = reply.status
    response.setHeader('content-type', json ? 'application/json' : 'text/plain; charset=utf-8')
    response.setHeader('content-length', Buffer.byteLength(text))
    if (fault?.kind === 'status' && fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
    if (fault?.kind === 'cut') response.write(text.slice(0, text.length >> 1), () => response.destroy())
    else response.end(text)
  }

  private async stream(
    events: (send: (event: unknown) => void) => Promise<void>,
    { fault }: Exchange,
    response: ServerResponse,
  ): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    let sent = 0
    const send = (event: unknown): void => {
      if (response.destroyed) return
      const text = fault?.kind === 'spoil' ? spoiled(event, fault.how, this.spoilers) : JSON.stringify(event)
      // A stream that ends with nothing said has fewer completions than asked for.
      if (!(fault?.kind === 'spoil' && fault.how === 'fewer-completions')) response.write(`data: ${text}\n\n`)
      if (fault?.kind === 'cut' && ++sent >= fault.tokens) response.destroy()
    }
    await events(send)
    if (!response.destroyed) response.end('data: [DONE]\n\n')
  }
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds, as metrics have them. */
let starts = 1_794_000_000
const nextStart = (): number => ++starts

/** A number above all others, for names. */
let counter = 0
export const nextName = (): string => (++counter).toString(16).padStart(16, '0')
