/** What a picture of runs shows: the curves of their metrics, what the axes are, and which panels would hold nothing. */
import { isRoundingNoise } from '../progress/index.js'
import { mainMetrics } from './main-metrics.js'
import { unitOf } from './metric-names.js'
import { metricText } from './metric-text.js'
import type { MetricPoint, RunView } from './run-view.js'

export interface Curves {
  readonly title: string
  /** Name of the horizontal axis. */
  readonly across: string
  readonly runs: readonly { readonly name: string; readonly metrics: ReadonlyMap<string, readonly MetricPoint[]> }[]
  readonly panels: readonly {
    readonly metric: string
    readonly axis: string
    readonly show?: ((value: number) => string) | undefined
    readonly level?: number | undefined
  }[]
  /** Main metrics that have no panel, because their values are rounding noise. */
  readonly leftOut: readonly string[]
  /** Says so. */
  readonly note?: string
}

/**
 * @example
 * chart(curvesOf([{ name: 'grpo', view: await Run.read('runs/grpo') }]))
 */
export function curvesOf(
  named: readonly { readonly name: string; readonly view: RunView }[],
  /** Default: the main ones that have more than rounding noise. */
  metrics?: readonly string[],
): Curves {
  const views = named.map(({ view }) => view)
  // A learning rate may be as small as that on purpose.
  const noise = (metric: string): boolean =>
    !/^lr(\/|$)/.test(metric) &&
    isRoundingNoise(views.flatMap(view => (view.metrics.get(metric) ?? []).map(({ value }) => value)))
  const wanted = metrics ?? mainMetrics(views)
  const leftOut = metrics ? [] : wanted.filter(noise)
  return {
    title: titleOf(named),
    across: views.every(({ config }) => config.command === 'rl') ? 'iteration' : 'step',
    runs: named.map(({ name, view }) => ({ name, metrics: view.metrics })),
    panels: wanted.filter(metric => !leftOut.includes(metric)).map(panelOf),
    leftOut,
    ...(leftOut.length === 0 ? {} : { note: `left out, because it is rounding noise: ${leftOut.join(', ')}` }),
  }
}

function titleOf(named: readonly { readonly name: string; readonly view: RunView }[]): string {
  const kinds = [...new Set(named.map(({ view }) => kindOf(view)))].join(', ')
  const [{ name }, ...others] = named as readonly [{ readonly name: string }, ...typeof named]
  if (others.length > 0) return `${named.length} runs (${kinds})`
  return name === kinds ? name : `${name} (${kinds})`
}

/** `grpo`, `dpo`, `sft`. */
function kindOf({ config: { command, config } }: RunView): string {
  const { algorithm, loss } = (config ?? {}) as { readonly algorithm?: unknown; readonly loss?: unknown }
  const special = command === 'rl' ? algorithm : command === 'preference' ? loss : undefined
  return typeof special === 'string' ? special : command
}

/** Shares of pairs that one of two wins: by chance a half. */
const winRate = /(^|[/_])win_rate$|^(validation|reward|preference)\/accuracy$/

function panelOf(metric: string): Curves['panels'][number] {
  const unit = unitOf(metric)
  const inWords = metric.replace(/\/mean$/, '').replaceAll(/[/_]/g, ' ')
  return {
    metric,
    axis: { s: 'seconds', bytes: 'memory', '': inWords }[unit] ?? unit,
    ...(unit === 'bytes' ? { show: (value: number) => metricText(metric, value) } : {}),
    ...(winRate.test(metric) ? { level: 0.5 } : {}),
  }
}
