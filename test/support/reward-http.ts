import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Asked {
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
}

/** What a server does with the n-th request (from 0). */
export type Behaviour = (response: ServerResponse, asked: Asked, index: number) => void | Promise<void>

export interface RewardServer {
  url: string
  port: number
  asked: Asked[]
}

/** A reward server on loopback that answers as it is told; it goes when the test does. */
export async function rewardServer(behave: Behaviour, options: { port?: number } = {}): Promise<RewardServer> {
  const asked: Asked[] = []
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = { path: request.url!, headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) }
    await behave(response, one, asked.push(one) - 1)
  })
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** A port where nobody listens, for now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
