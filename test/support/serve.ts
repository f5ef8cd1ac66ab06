import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { type OpenedEngine, openEngine } from '../../src/rollout/index.js'
import { ModelServer, type ServeOptions } from '../../src/serve/index.js'
import { widerDirectory } from './tiny-model.js'

export interface World {
  opened: OpenedEngine
  model: string
  /** Another server over the same engine. */
  serve(options?: Partial<ServeOptions>): Promise<ModelServer>
  close(): Promise<void>
}

export async function makeWorld(): Promise<World> {
  const model = await widerDirectory()
  const opened = await openEngine(model, { maxSequences: 64 })
  const servers: ModelServer[] = []
  return {
    opened,
    model,
    async serve(options = {}) {
      const server = await ModelServer.start({
        engine: opened.engine,
        tokenizer: opened.tokenizer,
        name: 'tiny',
        port: 0,
        ...options,
      })
      servers.push(server)
      return server
    },
    async close() {
      for (const server of servers) await server.close({ graceMs: 0 })
      await opened.close()
    },
  }
}

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

/** One request, as raw as wanted. */
export function send(port: number, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers }
    const sent = request(
      { host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', agent: false, ...options, headers },
      response => {
        let text = ''
        response.setEncoding('utf8').on('data', part => (text += part))
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : raw)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field.
export const post = async (port: number, path: string, body: unknown): Promise<{ status: number; body: any }> => {
  const { status, text } = await send(port, path, body)
  return { status, body: JSON.parse(text) }
}

export async function until(holds: () => boolean, ms = 10_000): Promise<void> {
  for (const end = Date.now() + ms; !holds(); ) {
    if (Date.now() > end) throw new Error('it did not come to pass')
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
