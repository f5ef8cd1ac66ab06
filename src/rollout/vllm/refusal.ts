import { parseRetryAfter } from '../../http/index.js'
import type { Refusal } from '../remote/dialect.js'
import { serverWords } from '../remote/errors.js'

const tooLong =
  /maximum context length|longer than the maximum model length|max_tokens must be at least 1, got (0|-)|prompt .*(too long|exceeds)/i

/** What a status that is no success means. */
export function refusal(status: number, text: string, retryAfter: string | undefined): Refusal {
  const words = serverWords(text)
  const message = `the server answered ${status}${words === '' ? '' : `: ${words}`}`
  if (status === 400 && tooLong.test(words)) return { kind: 'prompt-too-long', message: words }
  // The names we give adapters: a server that does not know one was started anew.
  if (status === 404 && /policy@/.test(words)) return { kind: 'unknown-weights', message }
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'retry', message, afterMs: parseRetryAfter(retryAfter) }
  if (status === 401) return { kind: 'refused', message: `${message}. Check the API key.` }
  return { kind: 'refused', message }
}
