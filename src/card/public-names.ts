/** Names and options as others may read them: without the paths, addresses and secrets of this machine. */
import { basename, dirname, isAbsolute, win32 } from 'node:path'

/** Options that say where a run computed, and not what it trained. A generator has addresses of servers, and flags of any kind. */
const leftOut = new Set(['output', 'generator', 'device', 'rewardWorkers', 'rewardPatienceMinutes', 'loggers'])
/** A run has this section only where it was given, also with default values alone, so it is shown whole. */
const shownWhole = 'lora'
const secret = /(api.?key|secret|password|credential|authorization|headers?|^token$|.token$)/i

/**
 * An id of the Hub, or the last part of a path.
 *
 * @example
 * publicName('hf:openai/gsm8k:main/train') // openai/gsm8k
 * publicName('/home/me/runs/sft/best_model') // sft/best_model
 */
export function publicName(name: string): string {
  const id = hubId(name)
  if (id !== undefined) return id
  const own = basename(win32.basename(name))
  return /^(best|final|ema|value|base)_model$|^(best|final)_adapter$/.test(own)
    ? `${basename(dirname(name))}/${own}`
    : own
}

/** `org/name` of a model or data set of the Hub: named so, or a folder of its cache. */
export function hubId(name: string): string | undefined {
  const [, named] = /^hf:([\w.-]+\/[\w.-]+)/.exec(name) ?? []
  if (named !== undefined) return named
  const [, organisation, cached] = /(?:models|datasets)--([\w.-]+?)--([\w.-]+)[\\/]snapshots[\\/]/.exec(name) ?? []
  return cached === undefined ? undefined : `${organisation}/${cached}`
}

/** Options that were given, by dotted path. */
export function publicConfig(
  config: Readonly<Record<string, unknown>>,
  origins: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const given = (path: string): boolean =>
    Object.entries(origins).some(
      ([key, origin]) => origin !== 'default' && (key === path || key.startsWith(`${path}.`)),
    )
  const kept = (values: Readonly<Record<string, unknown>>, prefix: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, value]) => {
        const path = `${prefix}${key}`
        if (value === undefined || leftOut.has(path) || secret.test(key)) return []
        if (path !== shownWhole && !given(path)) return []
        return [[key, isPlain(value) && path !== shownWhole ? kept(value, `${path}.`) : publicValue(value)]]
      }),
    )
  return kept(config, '')
}

function publicValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(publicValue)
  if (isPlain(value))
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) => (secret.test(key) ? [] : [[key, publicValue(one)]])),
    )
  if (typeof value !== 'string') return value
  if (/^\w+:\/\//.test(value)) return '(an address)'
  return value.startsWith('hf:') || isAbsolute(value) || win32.isAbsolute(value) ? publicName(value) : value
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
