/** An MCP server behind HTTP, two tools a page. It may be stopped and started again, and then knows no earlier session. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { atEnd } from '../at-end.js'

type Message = Readonly<Record<string, unknown>> & { readonly params?: Readonly<Record<string, unknown>> }

export class McpHttpDouble {
  readonly ended: string[] = []
  readonly keys = new Set<string | undefined>()
  #sessions = new Set<string>()
  #server: Server | undefined
  #port = 0

  /** `answer` gives the fields of a JSON-RPC answer: a result or an error. */
  constructor(
    public tools: readonly string[],
    private readonly answer: (name: string, given: unknown) => object,
  ) {
    atEnd(() => this.stop())
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#handle(request, response))
    this.#server = server
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    return this
  }

  async stop(): Promise<void> {
    this.#sessions = new Set()
    const server = this.#server
    this.#server = undefined
    server?.closeAllConnections()
    await new Promise(resolve => (server ? server.close(resolve) : resolve(undefined)))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = (status: number, body?: object, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(body && JSON.stringify(body))
    }
    const session = request.headers['mcp-session-id'] as string | undefined
    this.keys.add(request.headers.authorization)
    if (request.method === 'GET') return end(405)
    if (request.method === 'DELETE') {
      this.ended.push(session!)
      return end(200)
    }
    const { id, method, params } = JSON.parse(await text(request)) as Message
    if (method === 'initialize') {
      const opened = randomUUID()
      this.#sessions.add(opened)
      const serverInfo = { name: 'double', version: '1' }
      const result = { protocolVersion: params!.protocolVersion, capabilities: { tools: {} }, serverInfo }
      return end(200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': opened })
    }
    if (!this.#sessions.has(session!)) return end(404, { message: 'no such session' })
    if (id === undefined) return end(202)
    if (method === 'tools/list') {
      const from = Number(params?.cursor ?? 0)
      const tools = this.tools.slice(from, from + 2).map(name => ({ name, inputSchema: { type: 'object' } }))
      const more = from + 2 < this.tools.length ? { nextCursor: String(from + 2) } : {}
      return end(200, { jsonrpc: '2.0', id, result: { tools, ...more } })
    }
    end(200, { jsonrpc: '2.0', id, ...this.answer(String(params!.name), params!.arguments) })
  }
}

export const said = (value: string): object => ({ result: { content: [{ type: 'text', text: value }] } })
