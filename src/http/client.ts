/** What clients of HTTP servers share: addresses, keys, secrets that are not shown, waiting. */

/** A server's address, with its secrets taken apart. */
export interface ServerUrl {
  /** Without user and password. */
  readonly url: URL
  /** The header made of user and password. */
  readonly authorization: string | undefined
  /** Texts that no message may show. */
  readonly secrets: readonly string[]
}

/** Undefined where the text is no address of an HTTP server. Do not show the text: it may hold a password. */
export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  const { username, password } = url
  const given = username !== '' || password !== ''
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  url.username = ''
  url.password = ''
  const basic = Buffer.from(pair).toString('base64')
  return {
    url,
    authorization: given ? `Basic ${basic}` : undefined,
    secrets: [decodeURIComponent(password), ...(given ? [basic] : []), ...url.searchParams.values()],
  }
}

/** A URL as messages show it: without user, password, query and fragment. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`
}

/** Whether a header can hold the key. Check it first: a library would show the key in its error. */
export function isApiKey(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key)
}

/** Shorter secrets would remove ordinary words from messages. */
const shortestSecret = 4

/** Removes secrets from texts. `mark` makes what stands in their place. */
export function redactor(
  secrets: readonly (string | undefined)[],
  mark: (secret: string) => string = () => '[hidden]',
): (text: string) => string {
  const known = secrets
    .filter(secret => secret !== undefined && secret.length >= shortestSecret)
    // A server may repeat it escaped.
    .flatMap(secret => [secret!, encodeURIComponent(secret!), JSON.stringify(secret).slice(1, -1)])
    .sort((a, b) => b.length - a.length)
  return text => known.reduce((shown, secret) => shown.replaceAll(secret, mark(secret)), text)
}

/** The header `Retry-After` in milliseconds: seconds or a date; undefined for anything else. */
export function parseRetryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(text.trim())) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
