/** What the environment says about the Hub. The names, defaults and meanings are those of Python's `huggingface_hub`. */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isApiKey } from '../http/index.js'
import { HubError } from './errors.js'

export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: string
  /** The directory of the cache that all tools share. */
  readonly cache: string
  /** Never shown, and sent to the endpoint alone. */
  readonly token: string | undefined
  /** `offline`: nothing is asked of the network. */
  readonly network: 'online' | 'offline'
}

/**
 * `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN` (or the token that `hf auth login` keeps) and `HF_HUB_OFFLINE`.
 *
 * @example
 * const { cache } = hubSettings({ HF_HOME: '/data/hf' }) // /data/hf/hub
 */
export function hubSettings(env: NodeJS.ProcessEnv = process.env): HubSettings {
  const home = placed(env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface'))
  const cache = placed(env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(home, 'hub'))
  const endpoint = (env.HF_ENDPOINT || 'https://huggingface.co').replace(/\/+$/, '')
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint))
    throw new HubError('HF_ENDPOINT: expected the address of a server, such as https://huggingface.co')
  const network = isTrue(env.HF_HUB_OFFLINE) || isTrue(env.TRANSFORMERS_OFFLINE) ? 'offline' : 'online'
  return { endpoint, cache, token: tokenOf(env, home), network }
}

function tokenOf(env: NodeJS.ProcessEnv, home: string): string | undefined {
  const given = clean(env.HF_TOKEN) ?? clean(env.HUGGING_FACE_HUB_TOKEN)
  if (given !== undefined && !isApiKey(given))
    throw new HubError('HF_TOKEN: expected printable characters without spaces')
  if (given !== undefined || isTrue(env.HF_HUB_DISABLE_IMPLICIT_TOKEN)) return given
  try {
    const kept = clean(readFileSync(placed(env.HF_TOKEN_PATH || join(home, 'token')), 'utf8'))
    return kept !== undefined && isApiKey(kept) ? kept : undefined
  } catch {
    // Public repositories need none.
    return undefined
  }
}

const isTrue = (value: string | undefined): boolean =>
  ['1', 'ON', 'YES', 'TRUE'].includes((value ?? '').trim().toUpperCase())

function clean(text: string | undefined): string | undefined {
  const trimmed = text?.trim()
  return trimmed === '' ? undefined : trimmed
}

const placed = (path: string): string => resolve(path.replace(/^~(?=$|\/)/, homedir()))
