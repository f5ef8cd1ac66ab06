/**
 * Access checks: the API key, and protection against web pages that try to reach a server on their reader's machine. A page of another
 * origin is known by `Origin`; a name that was made to point here (DNS rebinding) by `Host`. IP addresses and localhost are safe.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isApiKey } from '../http/index.js'
import { ApiError } from './errors.js'

interface AccessOptions {
  apiKey: string | undefined
  /** The server's host name, and those of proxies. */
  hosts: readonly string[]
  /** Origins of web pages that may send requests; `*`: any. */
  origins: readonly string[]
}

export class Access {
  private readonly key: Buffer | undefined
  private readonly hosts: ReadonlySet<string>
  private readonly origins: ReadonlySet<string>

  constructor({ apiKey, hosts, origins }: AccessOptions) {
    if (apiKey !== undefined && !isApiKey(apiKey))
      throw new RangeError('an API key is one or more printable ASCII characters without spaces')
    this.key = apiKey === undefined ? undefined : digest(apiKey)
    this.hosts = new Set(hosts.map(host => host.toLowerCase()))
    this.origins = new Set(origins.map(origin => origin.toLowerCase().replace(/\/$/, '')))
  }

  authorized({ headers }: IncomingMessage): boolean {
    if (!this.key) return true
    const given = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? ''
    return timingSafeEqual(digest(given), this.key)
  }

  /** Returns the CORS headers for an allowed origin. Throws for a host or origin that is not allowed. `authority`: the host of the request. */
  check({ headers }: IncomingMessage, authority: string | undefined): Readonly<Record<string, string>> {
    if (authority !== undefined && !this.isOurs(hostname(authority)))
      throw new ApiError(
        403,
        `the request is for ${JSON.stringify(authority)}, which is not a name of this server; --allow-host adds it`,
      )
    const origin = headers.origin?.toLowerCase()
    if (origin === undefined || origin === `http://${authority?.toLowerCase()}`) return {}
    if (!this.origins.has('*') && !this.origins.has(origin))
      throw new ApiError(403, `pages of ${JSON.stringify(origin)} may not ask this server; --allow-origin lets them`)
    return { 'access-control-allow-origin': headers.origin!, vary: 'Origin' }
  }

  private isOurs(name: string): boolean {
    return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || this.hosts.has(name)
  }
}

/** The answer to a browser's CORS preflight. */
export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type, x-request-id',
  'access-control-max-age': '600',
}

/** Of `host:port`, `[v6]:port` or either without a port. */
function hostname(authority: string): string {
  const [, v6, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.toLowerCase()) ?? []
  return v6 ?? (name ?? '').replace(/\.$/, '')
}

/** Hashed: equal lengths, and a comparison in constant time. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
