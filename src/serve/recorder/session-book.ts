/** Sessions that agents may ask: each has a key of its own, which opens no other. */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../errors.js'

export interface BookedSession<T> {
  readonly id: string
  /** A secret: the API key of the agent. */
  readonly key: string
  readonly of: T
}

const header = 'x-whetstone-session'

/** Holds hashes: comparing them tells nothing about a key. */
export class SessionBook<T> {
  readonly #byKey = new Map<string, BookedSession<T>>()
  readonly #byId = new Map<string, BookedSession<T>>()

  constructor(private readonly mostSessions: number) {}

  get size(): number {
    return this.#byId.size
  }

  open(of: T): BookedSession<T> {
    if (this.#byId.size >= this.mostSessions)
      throw new ApiError(429, `${this.mostSessions} sessions are open; end one first`, {
        headers: { 'retry-after': '1' },
      })
    const session = { id: randomBytes(9).toString('base64url'), key: `sk-${randomBytes(24).toString('base64url')}`, of }
    this.#byKey.set(hashed(session.key), session)
    this.#byId.set(session.id, session)
    return session
  }

  close({ id, key }: BookedSession<T>): void {
    this.#byKey.delete(hashed(key))
    this.#byId.delete(id)
  }

  get(id: string): BookedSession<T> | undefined {
    return this.#byId.get(id)
  }

  all(): readonly BookedSession<T>[] {
    return [...this.#byId.values()]
  }

  /** The session of a request by its key, as the API key of the client. A header with another id is refused. */
  ofKey({ headers }: IncomingMessage): BookedSession<T> | undefined {
    const given = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
    const session = given === undefined ? undefined : this.#byKey.get(hashed(given))
    const named = headers[header]
    if (session && named !== undefined && named !== session.id)
      throw new ApiError(403, `${header}: the key is that of another session`)
    return session
  }

  /** The session that a request of the server's own key names; undefined where it names none. */
  named({ headers }: IncomingMessage): BookedSession<T> | undefined {
    const id = headers[header]
    if (id === undefined) return undefined
    const session = typeof id === 'string' ? this.#byId.get(id) : undefined
    if (!session) throw new ApiError(404, `${header}: there is no open session of this id`)
    return session
  }
}

const hashed = (key: string): string => createHash('sha256').update(key).digest('base64')
