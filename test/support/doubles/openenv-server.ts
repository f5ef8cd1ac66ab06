import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { atEnd } from '../at-end.js'

type Data = Readonly<Record<string, unknown>>
/** What a frame is answered with. 'silence': nothing. 'drop': the end of the connection. */
export type Answer = object | string | 'silence' | 'drop'

export interface OpenEnvDouble {
  readonly url: string
  /** Frames of all sockets, in the order they came. */
  readonly frames: { readonly type: string; readonly data: Data }[]
  readonly open: () => number
  stop(): Promise<void>
  /** At the same address again. */
  start(): Promise<void>
}

/** A server of `/ws` whose every socket is a new world. `room`: most sockets at a time. */
export async function openEnvDouble(
  world: () => (type: string, data: Data) => Answer,
  { room = Number.POSITIVE_INFINITY }: { readonly room?: number } = {},
): Promise<OpenEnvDouble> {
  const frames: OpenEnvDouble['frames'] = []
  const live = new Set<WebSocket>()
  const connected = (socket: WebSocket): void => {
    if (live.size >= room) {
      socket.send(JSON.stringify({ type: 'error', data: { code: 'CAPACITY_REACHED', message: `${room} of ${room}` } }))
      socket.close()
      return
    }
    live.add(socket)
    socket.on('close', () => live.delete(socket))
    const answer = world()
    socket.on('message', raw => {
      const { type, data = {} } = JSON.parse(String(raw)) as { type: string; data?: Data }
      frames.push({ type, data })
      if (type === 'close') return socket.close()
      if (type === 'state') return socket.send(JSON.stringify({ type: 'state', data: { step_count: 0 } }))
      const given = answer(type, data)
      if (given === 'silence') return
      if (given === 'drop') return socket.terminate()
      socket.send(typeof given === 'string' ? given : JSON.stringify(given))
    })
  }
  let server: WebSocketServer | undefined
  let port = 0
  const start = async (): Promise<void> => {
    const listening = new WebSocketServer({ host: '127.0.0.1', port, path: '/ws' })
    server = listening
    listening.on('connection', connected)
    await new Promise(resolve => listening.once('listening', resolve))
    port = (listening.address() as AddressInfo).port
  }
  const stop = async (): Promise<void> => {
    for (const socket of server?.clients ?? []) socket.terminate()
    await new Promise(resolve => (server ? server.close(resolve) : resolve(undefined)))
    server = undefined
  }
  atEnd(stop)
  await start()
  return { url: `http://127.0.0.1:${port}`, frames, open: () => live.size, start, stop }
}

export const observation = (
  fields: Data,
  { reward = null, done = false }: { reward?: number | boolean | null; done?: boolean } = {},
): object => ({ type: 'observation', data: { observation: fields, reward, done } })
