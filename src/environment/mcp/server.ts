/** The connection to an MCP server. One that is lost is made again for the next call; the call that lost it is not repeated. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { EnvironmentError } from '../errors.js'
import { messageOf } from '../fault.js'
import { ProcessTransport, type ServerCommand } from './process-transport.js'

interface McpPlace {
  readonly command?: ServerCommand | undefined
  readonly http?: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined
  /** Most seconds of a call, and of a start. */
  readonly seconds: number
}

export interface ListedTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: object
}

interface Connection {
  readonly client: Client
  readonly tools: readonly ListedTool[]
  close(): Promise<void>
}

const millisecondsToEnd = 2000

export class McpServer {
  #connection: Promise<Connection> | undefined
  /** A connection that was lost may still answer calls of other episodes. */
  readonly #opened: Connection[] = []
  #state: 'open' | 'closed' = 'open'

  constructor(
    private readonly place: McpPlace,
    /** Throws where the tools of a server that was started again are others. */
    private readonly check: (tools: readonly ListedTool[]) => void,
  ) {}

  /** The first connection, with its tools. Throws if there is no server. */
  async start(): Promise<readonly ListedTool[]> {
    this.#connection = this.#connect()
    return (await this.#connection).tools
  }

  /** What the server answers. A mistake in the input is an answer that the model reads. */
  async call(
    name: string,
    input: unknown,
    signal: AbortSignal,
  ): Promise<Pick<Awaited<ReturnType<Client['callTool']>>, 'content' | 'structuredContent' | 'isError'>> {
    const connection = await this.#connected(signal)
    try {
      const given = { name, arguments: input as Record<string, unknown> }
      return await connection.client.callTool(given, { signal, ...limitsOf(this.place) })
    } catch (error) {
      if (error instanceof ProtocolError && error.code === ProtocolErrorCode.InvalidParams)
        return { content: [{ type: 'text', text: `Error: ${error.message}` }], isError: true }
      if (isLost(error)) this.#forget(connection)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    await this.#connection?.catch(() => {})
    await Promise.all(this.#opened.map(connection => connection.close()))
  }

  /** A server that is away is asked again until the signal aborts. */
  async #connected(signal: AbortSignal): Promise<Connection> {
    for (let attempt = 0; ; attempt++) {
      if (this.#state === 'closed') throw new Error('the server was closed')
      this.#connection ??= this.#connect()
      const asked = this.#connection
      try {
        return await asked
      } catch (error) {
        if (this.#connection === asked) this.#connection = undefined
        if (error instanceof EnvironmentError) throw error
        await sleep(Math.min(500 * 2 ** attempt, 8000), undefined, { signal }).catch(() => {
          throw new Error(`the server is away: ${messageOf(error)}`)
        })
      }
    }
  }

  async #connect(): Promise<Connection> {
    const { command, http } = this.place
    const limits = limitsOf(this.place)
    const child = command && new ProcessTransport(command)
    const remote =
      http && new StreamableHTTPClientTransport(new URL(http.url), { requestInit: { headers: http.headers } })
    const client = new Client({ name: 'whetstone', version: '1' })
    const close = async (): Promise<void> => {
      const told = remote?.terminateSession().catch(() => {})
      await Promise.race([told, sleep(millisecondsToEnd, undefined, { ref: false })])
      await client.close().catch(() => {})
      await child?.close()
    }
    try {
      await client.connect((child ?? remote)!, limits)
      const { tools } = await client.listTools(undefined, limits)
      this.check(tools)
      const connection = { client, tools, close }
      client.onclose = () => this.#forget(connection)
      this.#opened.push(connection)
      return connection
    } catch (error) {
      await close()
      if (error instanceof EnvironmentError) throw error
      throw new Error(`${messageOf(error)}.${child?.lastWords ? ` Its last words: ${child.lastWords}` : ''}`)
    }
  }

  #forget(connection: Connection): void {
    const asked = this.#connection
    void asked?.then(
      now => {
        if (now === connection && this.#connection === asked) this.#connection = undefined
      },
      () => {},
    )
  }
}

const limitsOf = ({ seconds }: McpPlace) => ({ timeout: seconds * 1000, maxTotalTimeout: seconds * 1000 })

/** The process has ended, the server does not know the session any more, or nothing listens. */
function isLost(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404
  if (error instanceof SdkError)
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected
  return error instanceof TypeError
}
