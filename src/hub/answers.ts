/** What the Hub answers when it does not give what was asked for, in words that say what to do. */
import { HubError, UnreachableError } from './errors.js'
import { kindOf, pageOf, type Repo } from './repo.js'
import type { HubSettings } from './settings.js'

export interface Refused {
  readonly repo: Repo
  readonly revision?: string | undefined
  readonly status: number
  /** Headers `X-Error-Code` and `X-Error-Message`. */
  readonly code?: string | undefined
  readonly message?: string | undefined
  /** What was asked for. */
  readonly doing: 'read' | 'write'
}

export function refusal(refused: Refused, { endpoint, token }: HubSettings): HubError {
  const { repo, revision = 'main', status, code, message, doing } = refused
  const { host } = new URL(endpoint)
  const what = `the ${kindOf(repo)} ${repo.id}`
  if (code === 'GatedRepo')
    return new HubError(`${what} is gated: ${host} gives it to people who accepted its terms`, {
      remedy: `Accept the terms on ${pageOf(repo, endpoint)}, and ${token === undefined ? 'give your token' : 'check that the token is of that account'}: ${tokenAdvice}.`,
    })
  if (code === 'RevisionNotFound')
    return new HubError(`${what} has no revision ${revision}`, {
      remedy: `Give a branch, a tag or a commit: ${repo.id}@main. ${pageOf(repo, endpoint)}/tree/main lists them.`,
    })
  if (code === 'DisabledRepo')
    return new HubError(`${host} has disabled ${what}${message === undefined ? '' : `: ${message}`}`)
  if (doing === 'write' && (status === 401 || status === 403))
    return new HubError(`${host} does not let this token write to ${what}`, {
      remedy: `Use a token with write access, of an account that may write there: ${tokenAdvice}.`,
    })
  if (status === 401 && token !== undefined && code !== 'RepoNotFound')
    return new HubError(`${host} does not accept the token`, {
      remedy: `It may be mistyped or revoked. Make a new one on ${endpoint}/settings/tokens, and give it: ${tokenAdvice}.`,
    })
  if (code === 'RepoNotFound' || status === 404 || status === 401)
    return new HubError(`${host} has no ${kindOf(repo)} ${repo.id}, or it is private`, {
      remedy: `Check the name. A private one needs a token: ${tokenAdvice}. If ${repo.id} is meant to be a path: nothing is there.`,
    })
  if (status === 403)
    return new HubError(`${host} does not give ${what}${message === undefined ? '' : `: ${message}`}`, {
      remedy: `Check the rights of the token on ${endpoint}/settings/tokens.`,
    })
  if (status === 429)
    return new HubError(`${host} answers that there were too many requests`, {
      remedy: `Wait a few minutes and start again: what is fetched is kept. With a token more requests are allowed: ${tokenAdvice}.`,
    })
  return new UnreachableError(`${host} answered ${status} for ${what}${message === undefined ? '' : `: ${message}`}`, {
    remedy: 'Start again later: what is fetched is kept.',
  })
}

const tokenAdvice = 'set HF_TOKEN, or run `hf auth login`'

/** No answer at all. */
export function unreachable(repo: Repo, { endpoint }: HubSettings, why: string, cause: unknown): UnreachableError {
  const { host } = new URL(endpoint)
  return new UnreachableError(`${host} cannot be reached for ${repo.id} (${why})`, {
    cause,
    remedy: `Check the network; HF_ENDPOINT names another server. What is fetched is kept. If ${repo.id} is meant to be a path: nothing is there.`,
  })
}

export function offlineWithout(repo: Repo, revision: string, { cache }: HubSettings): HubError {
  const at = revision === 'main' ? '' : ` at ${revision}`
  return new HubError(`the ${kindOf(repo)} ${repo.id}${at} is not in ${cache}, and HF_HUB_OFFLINE is set`, {
    remedy: `Unset it and start again, or copy the cache (HF_HOME) of a machine that has it. If ${repo.id} is meant to be a path: nothing is there.`,
  })
}
