/** Lines of the log files as loggers get them. A line that has not the shape is left out. */
import { join } from 'node:path'
import type { JsonObject } from '../json-lines.js'
import { logFiles } from '../paths.js'
import { type LogPiece, readPiece } from './log-reader.js'
import type { LoggedArtifact, LoggedMetrics, LoggedSample } from './logger.js'

/** Log files that loggers read, and bytes of each. */
export type Sizes = Readonly<Record<'metrics' | 'samples' | 'events', number>>

export interface LogEntries {
  readonly metrics: LoggedMetrics
  readonly samples: LoggedSample
  readonly events: LoggedArtifact
}

/** Reads one kind of entry. */
interface Source<E> {
  /** Undefined: not an entry. */
  entry(line: JsonObject, directory: string): E | undefined
  /** Entries of one group come in one call. */
  readonly group?: (line: JsonObject) => unknown
}

const sources: { readonly [K in keyof LogEntries]: Source<LogEntries[K]> } = {
  metrics: {
    entry: ({ step, time, values }) => {
      if (typeof step !== 'number' || typeof values !== 'object' || values === null) return undefined
      return { step, time: milliseconds(time), values: numbersOf(values) }
    },
  },
  samples: {
    entry: ({ iteration, time, prompt, response, reward, components = {} }) => {
      if (typeof iteration !== 'number' || typeof prompt !== 'string' || typeof response !== 'string') return undefined
      const given = typeof reward === 'number' || typeof reward === 'string' ? Number(reward) : undefined
      const parts = numbersOf(components as object)
      return { step: iteration, time: milliseconds(time), prompt, response, reward: given, components: parts }
    },
    group: ({ iteration }) => iteration,
  },
  events: {
    entry: ({ kind, name, what }, directory) => {
      if (kind !== 'artifact' || typeof name !== 'string') return undefined
      return { name, path: join(directory, name), kind: what === 'model' ? 'model' : 'file' }
    },
  },
}

const milliseconds = (time: unknown): number => Date.parse(String(time))

/** Numbers that JSON cannot represent are written as words. */
function numbersOf(values: object): Record<string, number> {
  return Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, Number(value)]))
}

export interface Entries<E> {
  readonly entries: readonly E[]
  /** Where the next ones begin. */
  readonly end: number
}

/** The next entries of a kind in a run directory. */
export async function readEntries<K extends keyof LogEntries>(
  kind: K,
  directory: string,
  range: { readonly from: number; readonly to: number },
): Promise<Entries<LogEntries[K]>> {
  const { entry, group }: Source<LogEntries[K]> = sources[kind]
  const { lines, end } = await readLog(kind, directory, range, group)
  return { end, entries: lines.map(({ value }) => entry(value, directory)).filter(one => one !== undefined) }
}

function readLog(
  kind: keyof LogEntries,
  directory: string,
  range: { readonly from: number; readonly to: number },
  group?: (line: JsonObject) => unknown,
): Promise<LogPiece> {
  return readPiece(join(directory, 'logs', logFiles[kind]), range, group)
}

/**
 * Where a logger goes on that was sent everything before `sent`: at the first step of which something is missing. Of this step and
 * later ones all comes again, so that a logger can forget what it has of them.
 */
export async function wholeSteps(directory: string, sent: Sizes, sizes: Sizes): Promise<{ from: number; at: Sizes }> {
  const kinds = ['metrics', 'samples'] as const
  const steps = { metrics: [] as Place[], samples: [] as Place[] }
  for (const kind of kinds)
    for (let from = 0; from < sizes[kind]; ) {
      const { lines, end } = await readLog(kind, directory, { from, to: sizes[kind] })
      for (const { value, start } of lines) {
        const step = kind === 'metrics' ? value.step : value.iteration
        if (typeof step === 'number') steps[kind].push({ step, start })
      }
      if (end === from) break
      from = end
    }
  const missing = kinds.flatMap(kind => steps[kind].filter(({ start }) => start >= sent[kind]))
  const all = kinds.flatMap(kind => steps[kind])
  const from = missing.length > 0 ? least(missing) : greatest(all) + 1
  const at = kinds.map(kind => [kind, steps[kind].find(({ step }) => step >= from)?.start ?? sizes[kind]] as const)
  const { metrics, samples } = Object.fromEntries(at) as Record<(typeof kinds)[number], number>
  return { from, at: { metrics, samples, events: Math.min(sent.events, sizes.events) } }
}

interface Place {
  readonly step: number
  readonly start: number
}

const least = (places: readonly Place[]): number => places.reduce((low, { step }) => Math.min(low, step), Infinity)
const greatest = (places: readonly Place[]): number => places.reduce((high, { step }) => Math.max(high, step), -1)
