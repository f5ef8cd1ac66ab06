/** `fetch` for the Hub's API: with the token, tried again while the server is busy, and with errors for people. */
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, parseRetryAfter, redactor } from '../http/index.js'
import { refusal, unreachable } from './answers.js'
import { HubError } from './errors.js'
import type { Repo } from './repo.js'
import type { HubSettings } from './settings.js'

export interface Asking {
  readonly repo: Repo
  readonly revision?: string | undefined
  readonly doing: 'read' | 'write'
  readonly signal: AbortSignal
}

const busy = [408, 429, 500, 502, 503, 504]
const attempts = 4
/** No answer at all: once more, and no longer. */
const attemptsUnreachable = 2
const timeoutMs = 30_000

/** The Hub's library adds no token and follows no rule about retries when it is given this. */
export function hubFetch(settings: HubSettings, asking: Asking): typeof fetch {
  const { repo, revision, doing, signal } = asking
  const hidden = redactor([settings.token])
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    const ours = new URL(url).origin === new URL(settings.endpoint).origin
    const headers = new Headers(init?.headers)
    headers.set('user-agent', 'whetstone')
    // Storage that uploads go to has addresses that are signed already.
    if (ours && settings.token !== undefined) headers.set('authorization', `Bearer ${settings.token}`)
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      // Uploads take as long as they take; an answer of the API does not.
      const limit = init?.body === undefined ? [AbortSignal.timeout(timeoutMs)] : []
      const stops = [signal, ...limit, ...(init?.signal ? [init.signal] : [])]
      let response: Response
      try {
        response = await fetch(input, { ...init, headers, signal: AbortSignal.any(stops) })
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof HubError) throw error
        if (attempt >= attemptsUnreachable) throw unreachable(repo, settings, hidden(reasonOf(error)), error)
        await pause(attempt, undefined, signal)
        continue
      }
      if (response.ok) return response
      if (busy.includes(response.status) && attempt < attempts) {
        await response.body?.cancel()
        await pause(attempt, parseRetryAfter(response.headers.get('retry-after') ?? undefined), signal)
        continue
      }
      // A library may have uses for an answer that is a refusal: it exists already, for example.
      if (!ours || response.status === 409) return response
      const header = (name: string): string | undefined => response.headers.get(name) ?? undefined
      const message = header('x-error-message') ?? (await messageOf(response))
      const refused = { repo, revision, doing, status: response.status, code: header('x-error-code') }
      throw refusal({ ...refused, message: message === undefined ? undefined : hidden(message) }, settings)
    }
  }
}

async function pause(attempt: number, asked: number | undefined, signal: AbortSignal): Promise<void> {
  const wait = Math.min(asked ?? 250 * 2 ** attempt, 30_000)
  await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted())
}

async function messageOf(response: Response): Promise<string | undefined> {
  try {
    const { error } = (await response.json()) as { error?: unknown }
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const inner = error instanceof Error ? error.cause : undefined
  const first = inner instanceof AggregateError ? inner.errors[0] : inner
  const { message = String(error), name = '' } = error instanceof Error ? error : {}
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  return errorCode(first) ?? (first instanceof Error ? first.message : message)
}
