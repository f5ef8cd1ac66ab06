/** Report of a reward over a file of samples. */
import { numberText } from '../progress/index.js'
import {
  type FailedReward,
  type RewardOutcome,
  type RewardSummary,
  type SourceCounts,
  type Statistics,
  summarizeRewards,
} from '../reward/index.js'

interface ReportedRow {
  readonly where: string
  readonly response: string
  readonly outcome: RewardOutcome
}

/** Few values are listed instead of drawn as bars. */
const fewValues = 6
const bars = 10
const shownFailures = 10

export function rewardReport(
  rows: readonly ReportedRow[],
  options: { worst: number; sources: Readonly<Record<string, Readonly<SourceCounts>>> },
): string {
  const summary = summarizeRewards(rows.map(({ outcome }) => outcome))
  const sections = [
    `${rows.length} samples: ${summary.scored} scored, ${summary.failed} failed`,
    distribution(rows),
    table('mean of each source', summary.components, options.sources),
    table('metrics', summary.metrics, {}),
    worstRows(rows, options.worst),
    failures(rows, summary),
  ]
  return `${sections.filter(section => section !== '').join('\n\n')}\n`
}

function rewardsOf(rows: readonly ReportedRow[]): number[] {
  return rows.flatMap(({ outcome }) => (outcome.kind === 'scored' ? [outcome.reward] : []))
}

function distribution(rows: readonly ReportedRow[]): string {
  const rewards = rewardsOf(rows).sort((a, b) => a - b)
  if (rewards.length === 0) return ''
  const quantile = (share: number) => rewards[Math.min(rewards.length - 1, Math.floor(share * rewards.length))]!
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
  const line = Object.entries({
    mean,
    min: rewards[0]!,
    p10: quantile(0.1),
    p50: quantile(0.5),
    p90: quantile(0.9),
    max: rewards.at(-1)!,
  })
    .map(([name, value]) => `${name} ${numberText(value)}`)
    .join('  ')
  return `rewards  ${line}\n${histogram(rewards)}`
}

function histogram(rewards: readonly number[]): string {
  const values = [...new Set(rewards)]
  const bins =
    values.length <= fewValues
      ? values.map(value => ({ label: numberText(value), count: rewards.filter(reward => reward === value).length }))
      : equalBins(rewards)
  const widest = Math.max(...bins.map(({ label }) => label.length))
  const most = Math.max(...bins.map(({ count }) => count))
  return bins
    .map(
      ({ label, count }) =>
        `  ${label.padStart(widest)}  ${'#'.repeat(Math.ceil((count / most) * 40)).padEnd(40)}  ${count}`,
    )
    .join('\n')
}

function equalBins(sorted: readonly number[]): { label: string; count: number }[] {
  const [low, high] = [sorted[0]!, sorted.at(-1)!]
  const counts = new Array<number>(bars).fill(0)
  for (const reward of sorted) counts[Math.min(bars - 1, Math.floor(((reward - low) / (high - low)) * bars))]!++
  const edge = (i: number) => numberText(low + ((high - low) * i) / bars)
  return counts.map((count, i) => ({ label: `${edge(i)} .. ${edge(i + 1)}`, count }))
}

function table(
  title: string,
  statistics: Readonly<Record<string, Statistics>>,
  sources: Readonly<Record<string, Readonly<SourceCounts>>>,
): string {
  const names = Object.keys(statistics)
  if (names.length === 0) return ''
  const widest = Math.max(...names.map(name => name.length))
  const lines = names.map(name => {
    const { mean, std, min, max, count } = statistics[name]!
    const source = sources[name]
    const time = source
      ? `  ${source.calls} calls, ${numberText((source.seconds / Math.max(1, source.calls)) * 1000)} ms each`
      : ''
    return `  ${name.padEnd(widest)}  ${numberText(mean)} ± ${numberText(std)}  (${numberText(min)} .. ${numberText(max)}, ${count} samples)${time}`
  })
  return `${title}\n${lines.join('\n')}`
}

function worstRows(rows: readonly ReportedRow[], worst: number): string {
  const scored = rows.flatMap(row => (row.outcome.kind === 'scored' ? [{ ...row, outcome: row.outcome }] : []))
  const shown = scored.sort((a, b) => a.outcome.reward - b.outcome.reward).slice(0, worst)
  if (shown.length === 0) return ''
  const lines = shown.map(({ where, response, outcome }) => {
    const parts = Object.entries(outcome.components).map(([name, value]) => `${name} ${numberText(value)}`)
    const why = parts.length > 1 ? ` (${parts.join(', ')})` : ''
    return `  ${where}: ${numberText(outcome.reward)}${why}\n    ${excerpt(response)}`
  })
  return `worst rows\n${lines.join('\n')}`
}

function failures(rows: readonly ReportedRow[], summary: RewardSummary): string {
  if (summary.failed === 0) return ''
  const reasons = Object.entries(summary.failuresByReason).map(([reason, count]) => `${reason} ${count}`)
  const failed = rows.filter(({ outcome }) => outcome.kind === 'failed')
  const lines = failed.slice(0, shownFailures).map(({ where, outcome }) => {
    const { source, reason, message } = outcome as FailedReward
    return `  ${where}: ${source}: ${reason}: ${excerpt(message)}`
  })
  const more = failed.length > shownFailures ? `\n  and ${failed.length - shownFailures} more` : ''
  return `failures  ${reasons.join(', ')}\n${lines.join('\n')}${more}`
}

/** Also show the end, where answers are. Remove control characters, which would write to the terminal. */
function excerpt(text: string): string {
  const plain = text.replace(/\s+/g, ' ').replace(/\p{Cc}/gu, '?')
  return plain.length <= 160 ? plain : `${plain.slice(0, 80)} ... ${plain.slice(-75)}`
}
