/** The table of runs, and one run whole. */
import {
  configChanges,
  curvesOf,
  diagnose,
  headlineNames,
  type Json,
  mainMetrics,
  metricText,
  type RunView,
} from '../../run/index.js'
import type { Marker, RunDetail, RunStatusName, RunSummary, RunsAnswer } from '../api.js'
import type { WatchedRun } from '../catalog.js'
import { isListening } from '../control.js'
import type { Handler } from './index.js'

export const runsRoute: Handler = async ({ catalog }): Promise<RunsAnswer> => {
  const { runs, unreadable } = await catalog.all()
  const differing = differingOptions(runs.map(({ view }) => view))
  const summaries: RunSummary[] = []
  for (const run of runs) summaries.push(await summaryOf(run, differing))
  return { runs: summaries, unreadable }
}

export const runRoute: Handler = async ({ catalog, services }, { parts }): Promise<RunDetail> => {
  const run = await catalog.run(parts.run!)
  const { view } = run
  const { config, origins, versions, changes } = view.config
  return {
    ...(await summaryOf(run, [])),
    config,
    origins,
    versions,
    changes,
    checkpoints: view.checkpoints,
    markers: run.derived('markers', () => markersOf(run)),
    events: view.events.slice(-200),
    // Other trainings sample nothing.
    index: view.config.command === 'rl' ? await (await services.of(run.directory)).ask('progress', {}) : noIndex,
  }
}

const noIndex: RunDetail['index'] = {
  state: 'none',
  samples: 0,
  doneBytes: 0,
  totalBytes: 0,
  samplesPerSecond: null,
  problem: null,
}

async function summaryOf(run: WatchedRun, differing: readonly string[]): Promise<RunSummary> {
  const { name, directory, view } = run
  const { config, status } = view
  const listening = status === 'running' && (await isListening(directory))
  return {
    name,
    command: config.command,
    kind: kindOf(view),
    status: status as RunStatusName,
    resumable: status === 'stopped' || status === 'failed' || status === 'crashed',
    listening,
    step: view.step,
    steps: stepsOf(view),
    created: Date.parse(config.created),
    updated: view.updated,
    ...run.derived('summary', () => numbersOf(run)),
    differences: Object.fromEntries(differing.map(key => [key, shown(valueAt(config.config, key))])),
  }
}

/** Of columns: points as objects would take ten times their memory. */
function numbersOf({ view, reader: { table } }: WatchedRun): Pick<RunSummary, 'headline' | 'main' | 'alerts'> {
  const { metrics, status, config } = view
  const metric = headlineNames(config.command).find(name => metrics.has(name))
  const values = metric === undefined ? undefined : table.values(metric)
  const last = values?.at(-1)
  return {
    headline:
      metric === undefined || values === undefined || last === undefined
        ? null
        : { metric, last, best: bestOf(metric, values), text: metricText(metric, last) },
    main: Object.fromEntries(mainMetrics([view]).map(name => [name, table.last(name)!])),
    alerts: diagnose(metrics, status === 'finished' ? 'end' : 'step').length,
  }
}

/** `grpo`, `dpo`, `sft`. */
function kindOf(view: RunView): string {
  const { title } = curvesOf([{ name: '', view }], [])
  return title.trim().replace(/^\(|\)$/g, '')
}

/** Of a loss the lowest value, of everything else the highest. */
function bestOf(metric: string, values: Float64Array): number {
  const finite = values.filter(Number.isFinite)
  const lower = metric.startsWith('loss/') || metric.endsWith('perplexity')
  return finite.reduce((a, b) => (lower === b < a ? b : a), finite[0] ?? Number.NaN)
}

function stepsOf({ config: { config } }: RunView): number | null {
  const { iterations, maxSteps } = (config ?? {}) as { iterations?: unknown; maxSteps?: unknown }
  if (typeof iterations === 'number') return iterations
  return typeof maxSteps === 'number' ? maxSteps : null
}

/** Dotted keys of the options that are not the same in all runs. */
function differingOptions(views: readonly RunView[]): string[] {
  const [first, ...others] = views.map(({ config }) => config.config)
  if (first === undefined) return []
  const keys = new Set(others.flatMap(other => configChanges(first, other).map(({ key }) => key)))
  keys.delete('output')
  return [...keys].sort()
}

function valueAt(config: Json, key: string): Json | undefined {
  return key.split('.').reduce<Json | undefined>((value, name) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as { readonly [name: string]: Json | undefined })[name] : undefined
  }, config)
}

function shown(value: Json | undefined): string {
  if (value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}

/** Checkpoints, resumes, evaluations, acts and warnings, at the step that the run had reached. */
function markersOf({ view: { events, metrics, config }, reader: { table } }: WatchedRun): Marker[] {
  const { steps, times } = table.series(metrics.has('seconds/total') ? 'seconds/total' : 'loss/train')
  const stepAt = (time: number): number => {
    let [low, high] = [0, times.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (times[middle]! <= time) low = middle + 1
      else high = middle
    }
    return steps[low - 1] ?? 0
  }
  const markers: Marker[] = []
  for (const event of events) {
    const { kind } = event
    if (kind !== 'checkpoint' && kind !== 'resumed' && kind !== 'evaluation' && kind !== 'act' && kind !== 'warning')
      continue
    const time = Date.parse(event.time)
    // Checkpoints of a reinforcement learning count optimiser steps, its metrics iterations.
    const own = kind === 'checkpoint' && config.command === 'rl' ? undefined : (event.iteration ?? event.step)
    const text = event.text ?? event.message ?? (kind === 'checkpoint' ? `checkpoint ${event.step}` : kind)
    markers.push({ kind, step: typeof own === 'number' ? own : stepAt(time), time, text: String(text) })
  }
  return markers
}
