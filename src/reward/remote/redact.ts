const hidden = '[hidden]'
/** Shorter ones would take ordinary words out of messages; nobody's key is that short. */
const shortest = 4

/** Takes secrets out of texts that people and logs see. */
export function redactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets
    .filter(secret => secret !== undefined && secret.length >= shortest)
    .flatMap(secret => [secret!, encodeURIComponent(secret!)])
    .sort((a, b) => b.length - a.length)
  return text => known.reduce((shown, secret) => shown.replaceAll(secret, hidden), text)
}

/** A URL as messages show it: without user, password, query and fragment. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`
}
