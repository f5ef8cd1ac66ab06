import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { atEnd } from '../at-end.js'

type Data = Readonly<Record<string, unknown>>
/** What a frame is answered with. 'silence': nothing. */
export type Answer = object | string | 'silence'

export interface OpenEnvDouble {
  readonly url: string
  /** Frames of all sockets, in the order they came. */
  readonly frames: { readonly type: string; readonly data: Data }[]
  readonly open: () => number
}

/** A server of `/ws` whose every socket is a new world. `room`: most sockets at a time. */
export async function openEnvDouble(
  world: () => (type: string, data: Data) => Answer,
  { room = Number.POSITIVE_INFINITY }: { readonly room?: number } = {},
): Promise<OpenEnvDouble> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/ws' })
  await new Promise(resolve => server.once('listening', resolve))
  atEnd(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  const frames: OpenEnvDouble['frames'] = []
  const live = new Set<WebSocket>()
  server.on('connection', socket => {
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
      socket.send(typeof given === 'string' ? given : JSON.stringify(given))
    })
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, frames, open: () => live.size }
}

export const observation = (
  fields: Data,
  { reward = null, done = false }: { reward?: number | boolean | null; done?: boolean } = {},
): object => ({ type: 'observation', data: { observation: fields, reward, done } })
