/** Progress of a training: one live line, notes, and a table at the end. */
import { durationText, type Report } from '../../progress/index.js'
import { type DiagnosisWatch, metricText } from '../../run/index.js'

interface ProgressOptions {
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
  /** Steps that were done before: the line is there from now on. */
  begin(step: number): void
  /** The metrics of a step that is done. Those that are not measured at every step keep their last value on the line. */
  step(step: number, values: Readonly<Record<string, number>>): void
  /** A line that stays. */
  note(text: string): void
  /** Something that the user should look at. */
  warn(text: string): void
  /** What is being done within the step, and how far it is: `generating`, `34 of 64 samples`. */
  stage(text: string, far?: string): void
  /** Takes the line away, where it is still there: what follows is not written behind it. */
  leave(): void
  /** Takes the line away and shows a table of metrics by name, and what was wrong by them. */
  end(summary: Readonly<Record<string, MetricSummary>>, found?: DiagnosisWatch['found']): void
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

/** Shows a training's steps through a command's report: a line in place on a terminal, whole lines from time to time in a log. */
export function trainProgress(report: Report, options: ProgressOptions): TrainProgress {
  const { label, totalSteps, shown, now = Date.now } = options
  const line = report.live()
  const known: Record<string, number> = {}
  const created = now()
  // The first step includes one-time work: from the second on, the speed is measured from its end.
  let start: { step: number; time: number } | undefined
  let before = 0
  const secondsLeft = (step: number): number => {
    const since = start && step > start.step ? start : { step: before, time: created }
    return ((now() - since.time) / Math.max(1, step - since.step) / 1000) * (totalSteps - step)
  }
  const show = (step: number, left: string | undefined): void => {
    const details = shown.flatMap(name => (known[name] === undefined ? [] : [shownMetric(name, known[name])]))
    line.show({ at: `${label} ${step}/${totalSteps}`, share: step / Math.max(1, totalSteps), left, details })
  }
  return {
    begin(step) {
      before = step
      show(step, undefined)
    },
    step(step, values) {
      Object.assign(known, values)
      const left = step > before && step < totalSteps ? `${durationText(secondsLeft(step))} left` : undefined
      if (step > before) start ??= { step, time: now() }
      show(step, left)
    },
    note: text => report.line(text),
    warn: text => report.warn(text),
    stage: (text, far) => line.doing(text, far),
    leave: () => line.end(),
    end(summary, found = []) {
      line.end()
      for (const row of [...summaryTable(summary), ...foundLines(found)]) report.line(row)
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
  const text = metricText(name, value, 3)
  if (name === 'speed/tokens_per_second') return text
  return `${words[name] ?? name.replace(/\/mean$/, '').replaceAll(/[/_]/g, ' ')} ${text}`
}

/** What the run said on its way, once more: the lines of then are far above. */
function foundLines(found: DiagnosisWatch['found']): string[] {
  const lines = found.map(({ message, page, step, holds }) =>
    holds ? `  ${message} Read ${page}.` : `  At step ${step}, and no longer: ${message} Read ${page}.`,
  )
  return lines.length === 0 ? [] : ['Before you use the model, look at this:', ...lines]
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
      metricText(name, first),
      metricText(name, last),
      ...(withBest ? [best === undefined ? '' : metricText(name, best)] : []),
    ]),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows.map(row =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
  )
}
