/**
 * The Unix socket of a run that trains, mode 0600 in its directory: those who may write to the run's files may act on it. A connection sends
 * one line of JSON and gets lines of JSON back. A client that is slow, silent or gone costs the run nothing but its connection.
 */
import { chmod, open, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { runPaths } from './paths.js'

/** Longer paths do not fit into the address of a socket. */
const longestPath = 100
const longestLine = 1 << 20
const patienceMs = 10_000
const mostConnections = 16

/** Answers one request; `send` may be called several times. */
type ControlHandler = (request: unknown, send: (line: unknown) => void, signal: AbortSignal) => Promise<void>

export class ControlSocket {
  private constructor(
    private readonly server: Server,
    private readonly open: ReadonlySet<Socket>,
    private readonly path: string,
    private readonly release: () => Promise<void>,
  ) {}

  /** Undefined where a socket cannot be made here, such as on some network file systems: then the run is read only. */
  static async listen(directory: string, handle: ControlHandler): Promise<ControlSocket | undefined> {
    const path = runPaths(directory).socket
    // The lock of the run is held: a socket that is there was left by a process that died.
    await rm(path, { force: true })
    const { address, release } = await socketAddress(directory)
    const connections = new Set<Socket>()
    const server = createServer({ allowHalfOpen: true }, socket => {
      connections.add(socket)
      socket.on('close', () => connections.delete(socket))
      converse(socket, handle)
    })
    server.maxConnections = mostConnections
    // A worker thread cannot change the mask of its process; there `chmod` alone has to do.
    const before = isMainThread ? process.umask(0o177) : undefined
    const listening = new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(address, () => {
        server.off('error', reject)
        resolve()
      })
    })
    // The socket exists as soon as `listen` returns.
    if (before !== undefined) process.umask(before)
    try {
      await listening
      await chmod(path, 0o600)
    } catch {
      server.close()
      await release()
      return undefined
    }
    server.on('error', () => {})
    // It never keeps a process alive.
    server.unref()
    return new ControlSocket(server, connections, path, release)
  }

  async close(): Promise<void> {
    await rm(this.path, { force: true })
    const closed = new Promise<void>(resolve => this.server.close(() => resolve()))
    for (const socket of this.open) socket.destroy()
    await closed
    await this.release()
  }
}

function converse(socket: Socket, handle: ControlHandler): void {
  const gone = new AbortController()
  socket.unref()
  socket.on('error', () => {})
  socket.on('close', () => gone.abort(new Error('the client is gone')))
  socket.setTimeout(patienceMs, () => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
    if (text.length > longestLine) socket.destroy()
    const end = text.indexOf('\n')
    if (end < 0) return
    socket.removeAllListeners('data').resume()
    socket.setTimeout(0)
    const send = (line: unknown): void => {
      // Of a client that does not read, nothing is kept beyond this.
      if (socket.writableLength < longestLine) socket.write(`${JSON.stringify(line)}\n`)
    }
    void answer(text.slice(0, end), send, gone.signal, handle).finally(() => socket.end())
  })
}

async function answer(
  line: string,
  send: (line: unknown) => void,
  signal: AbortSignal,
  handle: ControlHandler,
): Promise<void> {
  try {
    await handle(JSON.parse(line) as unknown, send, signal)
  } catch (error) {
    send({ error: error instanceof Error ? error.message : String(error) })
  }
}

/** Where a socket is reached; a long path by way of an open directory, which Linux names shorter. */
export async function socketAddress(directory: string): Promise<{ address: string; release: () => Promise<void> }> {
  const path = runPaths(directory).socket
  if (Buffer.byteLength(path) <= longestPath || process.platform !== 'linux')
    return { address: path, release: async () => {} }
  const handle = await open(directory, 'r')
  return { address: join('/proc/self/fd', String(handle.fd), 'control.sock'), release: () => handle.close() }
}
