/** Progress of a training: one live line, notes, and a table at the end. */
import type { Report } from '../../progress/index.js'

export interface ProgressOptions {
  /** What is being done: `sft`, `rl`. */
  readonly label: string
  readonly totalSteps: number
  /** Names of the metrics on the line, in their order; one that has no value yet is left out. */
  readonly shown: readonly string[]
  /** Milliseconds, for the time that is left. */
  readonly now?: () => number
}

/** What a metric was at first and at last, and the best it was, where one value is better than another. */
export interface MetricSummary {
  readonly first: number
  readonly last: number
  readonly best?: number
}

export interface TrainProgress {
  /** The metrics of a step that is done. Those that are not measured at every step keep their last value on the line. */
  step(step: number, values: Readonly<Record<string, number>>): void
  /** A line that stays. */
  note(text: string): void
  /** What is being done within the step: `generating`, `first step: making CUDA graphs`. */
  stage(text: string): void
  /** Takes the line away, where it is still there: what follows is not written behind it. */
  leave(): void
  /** Takes the line away and shows a table of metrics by name. */
  end(summary: Readonly<Record<string, MetricSummary>>): void
}

/** What some metrics were at first, at last, and at best, over the steps added. */
export class MetricSummaries {
  readonly #all = new Map<string, MetricSummary>()
  readonly #names: Readonly<Record<string, 'higher' | 'lower' | 'neither'>>

  /** Those to keep, in the order of the table, each with which value is better. */
  constructor(names: Readonly<Record<string, 'higher' | 'lower' | 'neither'>>) {
    this.#names = names
  }

  add(values: Readonly<Record<string, number>>): void {
    for (const [name, better] of Object.entries(this.#names)) {
      const value = values[name]
      if (value === undefined) continue
      const { first = value, best = value } = this.#all.get(name) ?? {}
      const now = better === 'higher' ? Math.max(best, value) : Math.min(best, value)
      this.#all.set(name, { first, last: value, ...(better === 'neither' ? {} : { best: now }) })
    }
  }

  get all(): Readonly<Record<string, MetricSummary>> {
    const names = Object.keys(this.#names).filter(name => this.#all.has(name))
    return Object.fromEntries(names.map(name => [name, this.#all.get(name)!]))
  }
}

/**
 * Shows a training's steps through a command's report: a line in place on a terminal, whole lines from time to time in a log.
 *
 * @example
 * const progress = trainProgress(reportFor(process.env), { label: 'sft', totalSteps: 100, shown: ['loss/train'] })
 * progress.step(1, { 'loss/train': 2.3 })
 * progress.end({ 'loss/train': { first: 2.3, last: 0.4 } })
 */
export function trainProgress(report: Report, options: ProgressOptions): TrainProgress {
  const { label, totalSteps, shown, now = Date.now } = options
  const line = report.live()
  const known: Record<string, number> = {}
  // The speed is measured from the end of the first step, which includes one-time work.
  let start: { step: number; time: number } | undefined
  return {
    step(step, values) {
      Object.assign(known, values)
      start ??= { step, time: now() }
      const done = step - start.step
      const left = done > 0 ? ((now() - start.time) / done) * (totalSteps - step) : undefined
      const parts = shown.flatMap(name => (known[name] === undefined ? [] : [shownMetric(name, known[name])]))
      const time = left === undefined || step >= totalSteps ? [] : [`${duration(left / 1000)} left`]
      line.show([`${label} ${step}/${totalSteps}`, ...parts, ...time].join('  '))
    },
    note: text => report.line(text),
    stage: text => line.doing(text),
    leave: () => line.end(),
    end(summary) {
      line.end()
      for (const row of summaryTable(summary)) report.line(row)
    },
  }
}

const words: Readonly<Record<string, string>> = {
  'loss/train': 'loss',
  'loss/validation': 'validation loss',
  'kl/mean': 'KL',
  lr: 'lr',
}

function shownMetric(name: string, value: number): string {
  if (name === 'speed/tokens_per_second') return `${Math.round(value).toLocaleString('en')} tokens/s`
  return `${words[name] ?? name.replace(/\/mean$/, '').replaceAll(/[/_]/g, ' ')} ${significant(value)}`
}

/** Four digits: what a person compares. */
function significant(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value)
}

/** `8 s`, `3 min`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export function duration(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (seconds < 99.5) return `${Math.max(0, Math.round(seconds))} s`
  if (minutes < 100) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Metrics of speed and memory, not of results. */
const background = /^(lr|data|seconds|memory|speed)(\/|$)/

/** A header and a row for each metric that says what came of a training; the column of best values is there where one has it. Empty where there is no metric. */
export function summaryTable(summary: Readonly<Record<string, MetricSummary>>): string[] {
  const metrics = Object.entries(summary).filter(([name]) => !background.test(name))
  if (metrics.length === 0) return []
  const withBest = metrics.some(([, { best }]) => best !== undefined)
  const rows = [
    ['', 'first', 'last', ...(withBest ? ['best'] : [])],
    ...metrics.map(([name, { first, last, best }]) => [
      name,
      significant(first),
      significant(last),
      ...(withBest ? [best === undefined ? '' : significant(best)] : []),
    ]),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows.map(row =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
  )
}
