/**
 * The dashboard's server: the page's files, the JSON of `api.ts`, and live events. It reads run directories; only acts, which go through
 * the socket of a run, change anything in one that trains.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Access, sessionCookie } from './access.js'
import { RunCatalog } from './catalog.js'
import { ChatServers } from './chat-servers.js'
import { RequestError } from './errors.js'
import { Exchange } from './exchange.js'
import { Flags } from './flags.js'
import { LiveEvents } from './live.js'
import { PageFiles } from './page-files.js'
import { Rescoring } from './rescoring.js'
import { type Handler, routes } from './routes/index.js'
import { SampleServices } from './samples/service.js'
import { versionOf } from './version.js'

export interface DashboardOptions {
  /** A directory of runs, or a run. */
  readonly directory: string
  /** 0: a free one. */
  readonly port: number
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string
  /** Default: a new random one. */
  readonly token?: string
  /** Reward files that samples may be scored again with, beside those of a run's config. */
  readonly rewards?: readonly string[]
  /** Further names of this server in requests, such as a proxy's. */
  readonly allowHosts?: readonly string[]
  /** How long a client may leave what it was sent unread before its connection is closed, in milliseconds. Default: a minute. */
  readonly stallMs?: number
}

/** What routes work with. */
export interface Served {
  readonly catalog: RunCatalog
  readonly live: LiveEvents
  readonly services: SampleServices
  readonly flagsOf: (directory: string) => Flags
  readonly rewards: readonly string[]
  readonly chats: ChatServers
  readonly rescoring: Rescoring
  readonly version: string
}

/**
 * @example
 * const dashboard = await Dashboard.start({ directory: 'runs', port: 0 })
 * console.log(dashboard.url)
 * await dashboard.close()
 */
export class Dashboard {
  readonly token: string
  readonly #http: Server
  readonly #access: Access
  readonly #served: Served
  readonly #files: PageFiles
  readonly #host: string
  readonly #stallMs: number

  private constructor(options: DashboardOptions, files: PageFiles) {
    const { directory, host = '127.0.0.1', allowHosts = [], stallMs = 60_000 } = options
    this.token = options.token ?? randomBytes(24).toString('base64url')
    this.#host = host
    this.#stallMs = stallMs
    this.#access = new Access({ token: this.token, hosts: [host, ...allowHosts] })
    const catalog = new RunCatalog(directory)
    const services = new SampleServices()
    const flags = new Map<string, Flags>()
    const flagsOf = (of: string): Flags => {
      const known = flags.get(of) ?? new Flags(of)
      flags.set(of, known)
      return known
    }
    this.#served = {
      catalog,
      live: new LiveEvents(catalog, services, stallMs),
      services,
      flagsOf,
      rewards: options.rewards ?? [],
      chats: new ChatServers(),
      rescoring: new Rescoring(),
      version: versionOf(),
    }
    this.#files = files
    const timeouts = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1000 }
    this.#http = createServer(timeouts, (request, response) => void this.#handle(request, response))
    this.#http.maxConnections = 256
  }

  /** Resolves when it listens. */
  static async start(options: DashboardOptions): Promise<Dashboard> {
    const dashboard = new Dashboard(options, await PageFiles.read())
    const http = dashboard.#http
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(options.port, dashboard.#host, () => {
        http.off('error', reject)
        resolve()
      })
    })
    return dashboard
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  /** Without the token. */
  get origin(): string {
    return `http://${this.#host.includes(':') ? `[${this.#host}]` : this.#host}:${this.port}`
  }

  /** For a browser: the token stands behind the `#`, which is not sent to any server. */
  get url(): string {
    return `${this.origin}/#token=${this.token}`
  }

  async close(): Promise<void> {
    await this.#served.live.close()
    this.#served.rescoring.close()
    const closed = new Promise<void>(resolve => this.#http.close(() => resolve()))
    this.#http.closeAllConnections()
    await closed
    await this.#served.services.close()
    await this.#served.chats.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    request.on('error', () => {})
    // The answer is whole here, and stays in memory until the client has read it, or is not waited for any more.
    response.once('prefinish', () => response.setTimeout(this.#stallMs, () => response.destroy()))
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2)
    let exchange = new Exchange(request, response, {}, query)
    try {
      this.#access.checkSource(request)
      if (!path.startsWith('/api/')) return this.#files.answer(exchange, path)
      if (path === '/api/login') return await this.#login(exchange)
      if (!this.#access.isAllowed(request))
        throw new RequestError(
          401,
          'the token is missing or wrong; open the address that `whetstone dashboard` printed',
        )
      const { handler, parts } = find(request.method ?? '', path)
      exchange = new Exchange(request, response, parts, query)
      const answer = await handler(this.#served, exchange)
      if (answer !== undefined) exchange.json(200, answer)
    } catch (error) {
      refuse(exchange, error)
    }
  }

  async #login(exchange: Exchange): Promise<void> {
    if (exchange.request.method !== 'POST') throw new RequestError(405, 'expected POST')
    const { token } = (await exchange.body()) as { token?: unknown }
    if (typeof token !== 'string' || !this.#access.isToken(token))
      throw new RequestError(401, 'this is not the token that `whetstone dashboard` printed')
    const { catalog, version } = this.#served
    const headers = { 'set-cookie': sessionCookie(this.token, this.port) }
    exchange.json(200, { version, runsDirectory: catalog.directory }, headers)
  }
}

interface Found {
  readonly handler: Handler
  readonly parts: Readonly<Record<string, string>>
}

function find(method: string, path: string): Found {
  const given = path.split('/').slice(1)
  const allowed: string[] = []
  for (const [name, handler] of Object.entries(routes)) {
    const [verb = '', pattern = ''] = name.split(' ')
    const parts = matched(pattern.split('/').slice(1), given)
    if (!parts) continue
    if (verb === method || (verb === 'GET' && method === 'HEAD')) return { handler, parts }
    allowed.push(verb)
  }
  if (allowed.length > 0) throw new RequestError(405, `expected ${allowed.join(' or ')}`)
  throw new RequestError(404, 'there is no such route')
}

function matched(pattern: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== given.length) return undefined
  const parts: Record<string, string> = {}
  for (const [place, part] of pattern.entries()) {
    const found = given[place]!
    if (!part.startsWith(':')) {
      if (part !== found) return undefined
      continue
    }
    try {
      parts[part.slice(1)] = decodeURIComponent(found)
    } catch {
      return undefined
    }
  }
  return parts
}

function refuse(exchange: Exchange, error: unknown): void {
  const { request, response } = exchange
  if (response.destroyed) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  // The rest of a body that was refused is not read.
  const headers: Record<string, string> = request.complete ? {} : { connection: 'close' }
  const message = error instanceof Error ? error.message : String(error)
  // A run directory that is being written, moved or damaged is told as it is; the page shows it.
  exchange.json(error instanceof RequestError ? error.status : 500, { error: message }, headers)
}
