/**
 * One socket of an OpenEnv server: JSON frames, one request at a time. A socket is one environment. Frames have no ids, so that an answer
 * that comes late would be taken for the next one: a socket whose request was given up is closed and never used again.
 */
import { ping, WebSocket } from 'undici'
import { z } from 'zod'
import { onAbort } from '../../errors/index.js'

const errorSchema = z.object({ message: z.string().default(''), code: z.string().default('') })
const frameSchema = z.object({ type: z.string(), data: z.record(z.string(), z.unknown()).default({}) })
export const observationSchema = z.object({
  observation: z.record(z.string(), z.unknown()).default({}),
  reward: z.union([z.number(), z.boolean()]).nullish(),
  done: z.boolean().default(false),
})
export type Observation = z.output<typeof observationSchema>

/** The server answered with an error frame. */
export class OpenEnvError extends Error {
  override readonly name = 'OpenEnvError'
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(`${code}: ${message}`)
  }
}

const secondsBetweenPings = 20
const secondsToClose = 2

interface Waiting {
  resolve(frame: z.output<typeof frameSchema>): void
  reject(error: Error): void
}

export class OpenEnvConnection {
  private waiting: Waiting | undefined
  /** What ended the socket. */
  private ended: Error | undefined
  /** What the socket said of its own failure. */
  private broke: Error | undefined
  /** An error frame that came before anything was asked: a server that is full answers so. */
  private early: OpenEnvError | undefined
  private readonly pings: NodeJS.Timeout

  private constructor(private readonly socket: WebSocket) {
    this.pings = setInterval(() => ping(socket), secondsBetweenPings * 1000)
    this.pings.unref()
    socket.addEventListener('message', ({ data }) => this.take(data))
    // Where it says nothing, the 'close' that follows does.
    socket.addEventListener('error', ({ error, message }) => {
      const said = error?.message || message
      if (!said) return
      this.broke = new Error(said, { cause: error })
      this.end(this.broke)
    })
    socket.addEventListener('close', ({ code, reason }) =>
      this.end(new Error(`the server closed the connection (${code}${reason ? `: ${reason}` : ''})`)),
    )
  }

  static open(url: string, signal: AbortSignal): Promise<OpenEnvConnection> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const socket = new WebSocket(url)
      const connection = new OpenEnvConnection(socket)
      const unlink = onAbort(signal, () => {
        reject(signal.reason)
        connection.drop()
      })
      socket.addEventListener('open', () => {
        unlink()
        resolve(connection)
      })
      socket.addEventListener('close', () => {
        unlink()
        reject(connection.broke ?? new Error('no WebSocket server answers there'))
      })
    })
  }

  /** Sends a frame and waits for its answer. An aborted signal drops the socket. */
  async ask(type: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.early) throw this.early
    if (this.ended) throw this.ended
    if (this.waiting) throw new Error('the environment has not answered the request before')
    const frame = await new Promise<z.output<typeof frameSchema>>((resolve, reject) => {
      const unlink = onAbort(signal, () => {
        reject(signal.reason)
        this.drop()
      })
      this.waiting = {
        resolve: answer => {
          unlink()
          resolve(answer)
        },
        reject: error => {
          unlink()
          reject(error)
        },
      }
      // A server refuses frames of the kind `state` that have data.
      this.socket.send(JSON.stringify(type === 'state' ? { type } : { type, data }))
    })
    if (frame.type === 'error') throw errorOf(frame.data)
    return frame.data
  }

  /** The environment ends with its socket. */
  async close(): Promise<void> {
    if (this.ended) return
    const closed = new Promise<void>(resolve => this.socket.addEventListener('close', () => resolve()))
    this.socket.send(JSON.stringify({ type: 'close' }))
    const timer = setTimeout(() => this.drop(), secondsToClose * 1000)
    await closed
    clearTimeout(timer)
  }

  private drop(): void {
    this.end(new Error('the client closed the connection'))
    this.socket.close()
  }

  private take(data: unknown): void {
    const { waiting } = this
    this.waiting = undefined
    let frame: z.output<typeof frameSchema>
    try {
      frame = frameSchema.parse(JSON.parse(String(data)))
    } catch {
      // Python writes NaN and Infinity, which are no JSON.
      const error = new Error(`a frame that is no JSON object with a type: ${String(data).slice(0, 200)}`)
      waiting?.reject(error)
      this.drop()
      return
    }
    if (waiting) waiting.resolve(frame)
    else if (frame.type === 'error') this.early = errorOf(frame.data)
    else this.drop()
  }

  private end(error: Error): void {
    clearInterval(this.pings)
    this.ended ??= error
    const { waiting } = this
    this.waiting = undefined
    waiting?.reject(this.early ?? error)
  }
}

function errorOf(data: unknown): OpenEnvError {
  const { code, message } = errorSchema.parse(data)
  return new OpenEnvError(code, message)
}
