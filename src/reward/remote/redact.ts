import { RewardConfigError } from '../errors.js'

const hidden = '[hidden]'
/** Shorter ones would take ordinary words out of messages; nobody's key is that short. */
const shortest = 4

/** Takes secrets out of texts that people and logs see. */
export function redactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets
    .filter(secret => secret !== undefined && secret.length >= shortest)
    // As it is, and as a server may write it back.
    .flatMap(secret => [secret!, encodeURIComponent(secret!), JSON.stringify(secret).slice(1, -1)])
    .sort((a, b) => b.length - a.length)
  return text => known.reduce((shown, secret) => shown.replaceAll(secret, hidden), text)
}

/** A URL as messages show it: without user, password, query and fragment. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`
}

/** Refuses a key that no header can hold, before a library does so with the key in its message. */
export function checkApiKey(name: string, apiKey: string | undefined): void {
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new RewardConfigError(
      `reward "${name}": the API key is empty or has spaces, line ends or other characters that no header can hold`,
    )
}
