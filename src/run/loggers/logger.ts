/** What a logger is: an object that is told what a run logs, and sends it somewhere. */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { InputError } from '../../errors/index.js'
import type { Json } from '../exact-json.js'
import type { RunConfig } from '../identity.js'

/** The run, as a logger is told of it. */
export interface LoggedRun {
  /** The last part of the directory. */
  readonly name: string
  readonly directory: string
  /** The same whenever the run is resumed, and no other run has it. */
  readonly id: string
  /** `sft`, `reward`, `rl` or `preference`. */
  readonly command: string
  /** When the run was first started. */
  readonly created: string
  /** Every option with its value; passwords in addresses are hidden. */
  readonly config: Json
  readonly versions: Readonly<Record<string, string>>
  /** What `start` returned the last time; undefined the first time. */
  readonly kept: Json | undefined
  /** Metrics and samples of this step and later ones may come again. Undefined the first time: nothing was sent. */
  readonly from: number | undefined
}

/** One line of numbers. Steps are iterations in reinforcement learning, and optimiser steps elsewhere. */
export interface LoggedMetrics {
  readonly step: number
  /** Milliseconds since 1970. */
  readonly time: number
  /** NaN and infinities are possible. */
  readonly values: Readonly<Record<string, number>>
}

/** A sample whose text is logged. Samples of one step come in one call. */
export interface LoggedSample {
  readonly step: number
  readonly time: number
  readonly prompt: string
  readonly response: string
  readonly reward: number | undefined
  /** Rewards by their sources. */
  readonly components: Readonly<Record<string, number>>
}

/** A file or a directory that the run wrote. */
export interface LoggedArtifact {
  /** Its path from the run directory. */
  readonly name: string
  readonly path: string
  /** A model is a directory, and can be large. */
  readonly kind: 'file' | 'model'
}

export interface RunEnd {
  /** `stopped` can be resumed; `crashed`: the process died, and `whetstone runs sync` sends the rest. */
  readonly outcome: 'finished' | 'stopped' | 'failed' | 'crashed'
  /** Of a failed run. */
  readonly error?: string | undefined
  readonly time: number
}

/** Of each call. It aborts when the run no longer waits. */
export interface LoggerCall {
  readonly signal: AbortSignal
}

/**
 * Gets what a run logs. Calls come one after another, each after the promise of the one before has settled. A call that throws, rejects or takes
 * too long comes again later with the same entries: a logger may be given an entry twice, and can tell by its step.
 */
export interface Logger {
  /** For messages, and for the file that remembers what was sent. */
  readonly name: string
  /** Before anything else, in every process of a run. What it returns is kept with the run, as JSON. */
  start?(run: LoggedRun, call: LoggerCall): unknown
  /** The numbers of one or more steps, in order. */
  metrics?(entries: readonly LoggedMetrics[], call: LoggerCall): unknown
  samples?(entries: readonly LoggedSample[], call: LoggerCall): unknown
  artifact?(artifact: LoggedArtifact, call: LoggerCall): unknown
  /** After everything else of this process. */
  end?(end: RunEnd, call: LoggerCall): unknown
}

const functions = ['start', 'metrics', 'samples', 'artifact', 'end'] as const

/** A logger of a user. */
export interface LoggerDefinition extends Logger {
  readonly defines: 'logger'
  /** The file it was loaded from. Undefined where it was given in code. */
  readonly file?: string | undefined
  /** How a run's config records it: its file, or its name with the source text of its functions. */
  toJSON(): string | { readonly name: string; readonly source: string }
}

/**
 * A logger: the default export of a file that `loggers` names, or an object given in code.
 *
 * @example
 * export default defineLogger({
 *   name: 'console',
 *   metrics(entries) {
 *     for (const { step, values } of entries) console.log(step, values['loss/train'])
 *   },
 * })
 */
export function defineLogger(parts: Omit<Logger, 'name'> & { readonly name?: string }): LoggerDefinition {
  if (isLoggerDefinition(parts)) return parts
  const { name = 'logger' } = parts
  const given = functions.filter(one => parts[one] !== undefined)
  const wrong = given.find(one => typeof parts[one] !== 'function')
  if (wrong !== undefined) throw new InputError(`logger ${name}: ${wrong}: expected a function`)
  if (given.length === 0) throw new InputError(`logger ${name}: expected one of the functions ${functions.join(', ')}`)
  if (!/^[\w.+-]+$/.test(name) || name.startsWith('.'))
    throw new InputError(`logger ${JSON.stringify(name)}: its name may only have letters, digits, _, +, - and dots`)
  const calls = Object.fromEntries(given.map(one => [one, (parts[one] as (...args: unknown[]) => unknown).bind(parts)]))
  const source = given.map(one => `${one}: ${String(parts[one])}`).join('\n')
  const toJSON = function (this: LoggerDefinition): ReturnType<LoggerDefinition['toJSON']> {
    return this.file ?? { name: this.name, source }
  }
  return Object.assign(Object.create({ toJSON }) as Pick<LoggerDefinition, 'toJSON'>, {
    defines: 'logger' as const,
    name,
    ...calls,
  })
}

/** By its fields: a logger may come from another copy of this package. */
export function isLoggerDefinition(value: unknown): value is LoggerDefinition {
  return typeof value === 'object' && value !== null && 'defines' in value && value.defines === 'logger'
}

/** Whether an object has a function of a logger, as one that is given in code. */
export function looksLikeLogger(value: unknown): value is Parameters<typeof defineLogger>[0] {
  return typeof value === 'object' && value !== null && functions.some(one => one in value)
}

/** A run for its loggers. */
export function loggedRun(
  directory: string,
  config: RunConfig,
  { kept, from }: Pick<LoggedRun, 'kept' | 'from'>,
): LoggedRun {
  const { command, created, versions } = config
  const id = createHash('sha256').update(`${created}\n${directory}`).digest('hex').slice(0, 32)
  const shown = withoutPasswords(config.config)
  return { name: basename(directory), directory, id, command, created, config: shown, versions, kept, from }
}

/** `http://user:password@host` is an address that a config may hold, and that a tracker must not show. */
function withoutPasswords(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replace(/(\w:\/\/)[^/@\s"]+@/g, '$1[hidden]@')) as Json
}

/** Samples of each step, together. */
export function byStep(samples: readonly LoggedSample[]): LoggedSample[][] {
  const steps = new Map<number, LoggedSample[]>()
  for (const sample of samples) {
    const same = steps.get(sample.step)
    if (same) same.push(sample)
    else steps.set(sample.step, [sample])
  }
  return [...steps.values()]
}
