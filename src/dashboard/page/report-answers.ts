/** In a report, the answers come from the file itself: filters, orders and ranges are worked out here. */
import type {
  Curve,
  CurvesQuery,
  GroupsAnswer,
  GroupsQuery,
  Routes,
  SampleRow,
  SamplesAnswer,
  SamplesQuery,
} from '../api.js'
import type { ReportData } from '../report-data.js'
import { matches } from './where.js'

/** Undefined outside of browsers: the server reads this file for its types and paths. */
const { document } = globalThis as unknown as {
  readonly document?: { getElementById(id: string): { readonly textContent: string | null } | null }
}
const found = document?.getElementById('report')?.textContent
export const report: ReportData | undefined = found ? (JSON.parse(found) as ReportData) : undefined

interface Asked {
  readonly route: keyof Routes
  readonly parts?: { readonly sample?: string }
  readonly query?: unknown
}

/** Undefined where this is no report. */
export function reportAnswer(asked: Asked): unknown {
  return report && answerOf(report, asked)
}

export function answerOf(data: ReportData, { route, parts, query = {} }: Asked): unknown {
  const sample = parts?.sample ?? ''
  switch (route) {
    case 'GET /api/session':
      return data.session
    case 'GET /api/runs':
      return { runs: [data.run], unreadable: [] }
    case 'GET /api/runs/:run':
      return data.run
    case 'GET /api/runs/:run/metrics':
      return data.metrics
    case 'GET /api/runs/:run/curves':
      return { curves: curvesIn(data.curves, query as CurvesQuery) }
    case 'GET /api/runs/:run/stages':
      return data.stages
    case 'GET /api/runs/:run/alerts':
      return data.alerts
    case 'GET /api/runs/:run/acts':
      return data.acts
    case 'GET /api/runs/:run/samples':
      return samplesIn(data, query as SamplesQuery)
    case 'GET /api/runs/:run/groups':
      return groupsIn(data.rows, query as GroupsQuery)
    case 'GET /api/runs/:run/distributions':
      return needed(data.distributions, 'The run has no samples, so there are no distributions.')
    case 'GET /api/runs/:run/samples/:sample':
      return needed(data.details[sample], 'The report does not have this sample.')
    case 'GET /api/runs/:run/samples/:sample/tokens':
      return needed(data.tokens[sample], 'The report does not have the tokens of this sample; the dashboard does.')
    case 'GET /api/runs/:run/flags':
      return { flags: [], pairs: [] }
    case 'GET /api/runs/:run/chat':
      return { models: [] }
    default:
      throw new Error('A report cannot do this; the dashboard can.')
  }
}

function needed<T>(value: T | null | undefined, message: string): T {
  if (value === null || value === undefined) throw new Error(message)
  return value
}

function curvesIn(
  curves: readonly Curve[],
  { metrics, from = 0, to = Number.POSITIVE_INFINITY }: CurvesQuery,
): Curve[] {
  const names = metrics.split(',')
  return curves
    .filter(({ metric }) => names.includes(metric))
    .map(curve => {
      const inside = curve.steps.flatMap((step, i) => (step >= from && step <= to ? [i] : []))
      const cut = <T>(values: readonly T[]): T[] => inside.map(i => values[i]!)
      const { metric, steps, values, low, high } = curve
      const extremes = low && high ? { low: cut(low), high: cut(high) } : {}
      return { metric, steps: cut(steps), values: cut(values), ...extremes }
    })
}

function samplesIn(data: ReportData, query: SamplesQuery): SamplesAnswer {
  const { where = '', search = '', sort = 'iteration', order = 'descending', offset = 0, limit = 50 } = query
  const needle = search.toLowerCase()
  const kept = data.rows.filter(
    row => matches(row, where) && (row.prompt + row.response).toLowerCase().includes(needle),
  )
  const sign = order === 'ascending' ? 1 : -1
  const key = (row: SampleRow): number => {
    const value = sort.startsWith('component.')
      ? row.components[sort.slice('component.'.length)]
      : row[sort as 'reward']
    return value === null || value === undefined ? Number.POSITIVE_INFINITY : sign * value
  }
  kept.sort((a, b) => key(a) - key(b))
  const { components, dropReasons } = data
  return {
    ...{ rows: kept.slice(offset, offset + limit), total: kept.length, complete: true, components, dropReasons },
    ...{ index: data.run.index, milliseconds: 0 },
  }
}

function groupsIn(
  rows: readonly SampleRow[],
  { iteration, sort = 'spread', offset = 0, limit = 20 }: GroupsQuery,
): GroupsAnswer {
  const all = rows.map(row => row.iteration)
  const last = all.reduce((a, b) => Math.max(a, b), 0)
  const shown = iteration ?? last
  const groups = new Map<string, SampleRow[]>()
  for (const row of rows.filter(one => one.iteration === shown))
    groups.set(row.promptId, [...(groups.get(row.promptId) ?? []), row])
  const listed = [...groups].map(([promptId, samples]) => {
    const rewards = samples.flatMap(({ reward }) => (reward === null ? [] : [reward]))
    const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length
    const variance = rewards.reduce((a, b) => a + (b - mean) ** 2, 0) / rewards.length
    return {
      ...{ promptId, prompt: samples[0]!.prompt, mean: rewards.length > 0 ? mean : null },
      spread: rewards.length > 0 ? Math.sqrt(variance) : null,
      samples: samples.sort((a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity)),
    }
  })
  const by = { spread: 'spread', best: 'mean', worst: 'mean', order: undefined } as const
  const name = by[sort]
  if (name) listed.sort((a, b) => ((b[name] ?? -Infinity) - (a[name] ?? -Infinity)) * (sort === 'worst' ? -1 : 1))
  return {
    iteration: shown,
    iterations: { first: all.reduce((a, b) => Math.min(a, b), last), last },
    total: listed.length,
    groups: listed.slice(offset, offset + limit),
  }
}
