/**
 * Media over HTTP, where URLs are allowed. Data sets may name any URL: a name may lead into the own network, and a
 * redirect too. So each connection goes to an address that was checked, and redirects are followed one by one.
 */
import { lookup as resolveName } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, request } from 'undici'
import { shownUrl } from '../http/index.js'
import { MediaError } from './media-error.js'
import { tooLarge } from './too-large.js'

export interface UrlOptions {
  /** `public`: servers whose addresses belong to private networks or to this machine are refused. `any`: none are. */
  readonly addresses: 'public' | 'any'
  /** For one image or video, redirects included. Default 20. */
  readonly timeoutSeconds?: number
}

export interface FetchOptions {
  readonly urls?: UrlOptions | undefined
  readonly maxBytes: number
  readonly signal?: AbortSignal | undefined
}

const maxRedirects = 5
const types = /^(image|video)\/|^application\/octet-stream|^binary\/octet-stream/i

const ranges: Readonly<Record<'ipv4' | 'ipv6', readonly string[]>> = {
  // This host, private, shared, loopback, link-local, protocol assignments, documentation, benchmarks, multicast, reserved.
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  // Unspecified and loopback, IPv4 in other clothes (translated, 6to4, Teredo), documentation, unique local, link-local, multicast.
  ipv6: [
    '::/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/32',
    '2001:db8::/32',
    '2002::/16',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ],
}

const notPublic = new BlockList()
for (const family of ['ipv4', 'ipv6'] as const)
  for (const range of ranges[family]) {
    const [net, prefix] = range.split('/')
    notPublic.addSubnet(net!, Number(prefix), family)
  }

/** Whether an address belongs to the public internet. IPv4 addresses inside IPv6 are taken out first. */
export function isPublicAddress(address: string): boolean {
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]+):([\da-f]+))$/i.exec(address)
  if (mapped?.[1]) return isPublicAddress(mapped[1])
  if (mapped) {
    const [high, low] = [Number.parseInt(mapped[2]!, 16), Number.parseInt(mapped[3]!, 16)]
    return isPublicAddress([high >> 8, high & 255, low >> 8, low & 255].join('.'))
  }
  const version = isIP(address)
  return version !== 0 && !notPublic.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

export async function fetchMedia(url: URL, { urls, maxBytes, signal }: FetchOptions): Promise<Uint8Array> {
  if (!urls) throw new MediaError('refused', 'URLs of servers are not read; allow them by option, or give files')
  const { addresses, timeoutSeconds = 20 } = urls
  const limit = AbortSignal.timeout(timeoutSeconds * 1000)
  const ends = signal ? AbortSignal.any([signal, limit]) : limit
  const agent = new Agent({ connect: { lookup: checkedLookup(addresses), timeout: timeoutSeconds * 1000 } })
  try {
    return await follow(url, { agent, addresses, maxBytes, signal: ends })
  } catch (error) {
    if (error instanceof MediaError) throw error
    signal?.throwIfAborted()
    if (limit.aborted)
      throw new MediaError('limit', `the server did not send it within ${timeoutSeconds} s`, { cause: error })
    const why = refusalOf(error) ?? (error instanceof Error ? error.message : String(error))
    throw new MediaError(refusalOf(error) ? 'refused' : 'missing', why, { cause: error })
  } finally {
    await agent.destroy()
  }
}

interface Way {
  readonly agent: Agent
  readonly addresses: UrlOptions['addresses']
  readonly maxBytes: number
  readonly signal: AbortSignal
}

async function follow(first: URL, { agent, addresses, maxBytes, signal }: Way): Promise<Uint8Array> {
  let url = first
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    if (url.protocol !== 'https:' && (url.protocol !== 'http:' || first.protocol === 'https:'))
      throw new MediaError('refused', `a redirect leads to ${url.protocol}//`)
    if (url.username !== '' || url.password !== '')
      throw new MediaError('refused', 'URLs with a user or a password are not read')
    // An address in the URL itself is connected to without asking for its name.
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (addresses === 'public' && isIP(host) && !isPublicAddress(host))
      throw new MediaError('refused', privateAddress(host))
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { accept: 'image/*, video/*', 'accept-encoding': 'identity' },
    })
    // A body that is given up reports an error of its own.
    body.on('error', () => undefined)
    const { location } = headers
    if (statusCode >= 300 && statusCode < 400 && typeof location === 'string') {
      await body.dump({ limit: 65_536 })
      if (!URL.canParse(location, url.href)) throw new MediaError('refused', 'a redirect leads to no URL')
      url = new URL(location, url)
      continue
    }
    if (statusCode !== 200) {
      body.destroy()
      throw new MediaError('missing', `${shownUrl(url)} answered ${statusCode}`)
    }
    const type = String(headers['content-type'] ?? 'none')
    if (!types.test(type)) {
      body.destroy()
      throw new MediaError('format', `the server sends the type ${type}; expected image/* or video/*`)
    }
    return await readBody(body, Number(headers['content-length'] ?? 0), maxBytes)
  }
  throw new MediaError('refused', `it redirects more than ${maxRedirects} times`)
}

async function readBody(body: AsyncIterable<Uint8Array> & { destroy(): unknown }, announced: number, maxBytes: number) {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    if (announced > maxBytes) throw tooLarge(announced, maxBytes)
    for await (const chunk of body) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge(size, maxBytes)
      chunks.push(chunk)
    }
  } finally {
    body.destroy()
  }
  return Buffer.concat(chunks)
}

const privateAddress = (address: string): string =>
  `its server has the address ${address}, which is not of the public internet`

class PrivateAddressError extends Error {}

const refusalOf = (error: unknown): string | undefined => {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof PrivateAddressError) return at.message
  return undefined
}

/** Resolves a name once, checks every address, and lets the connection use these alone. */
function checkedLookup(addresses: UrlOptions['addresses']): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, { all: true, family: Number(options.family ?? 0) || 0 }).then(
      found => {
        const bad = addresses === 'public' ? found.find(({ address }) => !isPublicAddress(address)) : undefined
        if (bad) callback(new PrivateAddressError(privateAddress(bad.address)), '', 0)
        else if (options.all) callback(null, found)
        else callback(null, found[0]!.address, found[0]!.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}
