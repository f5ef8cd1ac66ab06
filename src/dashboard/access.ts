/**
 * Who may ask. A page of another site is known by `Origin` and `Sec-Fetch-Site`, a name that was made to point here (DNS rebinding) by
 * `Host`, and everything but the page's own files needs the token: in a cookie that scripts cannot read, or in a header.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { RequestError } from './errors.js'

export interface AccessOptions {
  readonly token: string
  /** Further names of this server, such as a proxy's. */
  readonly hosts: readonly string[]
}

export class Access {
  readonly #token: Buffer
  readonly #hosts: ReadonlySet<string>

  constructor({ token, hosts }: AccessOptions) {
    this.#token = digest(token)
    this.#hosts = new Set(hosts.map(host => host.toLowerCase()))
  }

  /** Throws where a request is for another host, or of a page of another site. */
  checkSource({ headers }: IncomingMessage): void {
    const { host, origin } = headers
    if (host === undefined || !this.#isOurs(hostname(host)))
      throw new RequestError(
        403,
        `the request is for ${JSON.stringify(host ?? '')}, which is not a name of this server`,
      )
    const site = headers['sec-fetch-site']
    // A proxy may speak TLS to the browser.
    const isOther = origin !== undefined && origin.toLowerCase().replace(/^https?:\/\//, '') !== host.toLowerCase()
    // A link on another site may open the page; what the page asks for comes from the page itself.
    const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
    if (isOther || (isForeign && headers['sec-fetch-mode'] !== 'navigate'))
      throw new RequestError(403, `a page of ${origin ?? 'another site'} may not ask this server`)
  }

  isToken(given: string): boolean {
    return timingSafeEqual(digest(given), this.#token)
  }

  isAllowed({ headers, socket }: IncomingMessage): boolean {
    const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
    if (bearer !== undefined) return this.isToken(bearer)
    const name = cookieName(socket.localPort ?? 0)
    for (const part of (headers.cookie ?? '').split(';')) {
      const [key, value = ''] = part.trim().split('=')
      if (key === name && this.isToken(value)) return true
    }
    return false
  }

  #isOurs(name: string): boolean {
    return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || this.#hosts.has(name)
  }
}

/** The cookie that a page gets for the token. Not for scripts, and not sent by pages of other sites. */
export function sessionCookie(token: string, port: number): string {
  return `${cookieName(port)}=${token}; HttpOnly; SameSite=Strict; Path=/`
}

/** Ports of one host share their cookies: two dashboards have two names. */
const cookieName = (port: number): string => `whetstone-${port}`

/** Of `host:port`, `[v6]:port` or either without a port. */
function hostname(authority: string): string {
  const [, v6, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.toLowerCase()) ?? []
  return v6 ?? (name ?? '').replace(/\.$/, '')
}

/** Hashed: equal lengths, and a comparison in constant time. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
