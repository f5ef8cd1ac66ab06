/** An evaluation for a person to read: a row for each number, a column for each model. */
import { numberText } from '../progress/index.js'
import type { Interval } from './intervals.js'
import type { Evaluation, ModelEvaluation } from './result.js'

type Cell = string | undefined

export function evaluationTable(evaluation: Evaluation): string {
  const { model, reference, winRate, leftOut, settings } = evaluation
  const models = [model, ...(reference ? [reference] : [])]
  const rows: { name: string; cells: Cell[] }[] = []
  const row = (name: string, cell: (one: ModelEvaluation) => Cell): void => {
    const cells = models.map(cell)
    if (cells.some(one => one !== undefined)) rows.push({ name, cells })
  }
  row('perplexity', ({ perplexity }) => perplexity && `${numberText(perplexity.value)} over ${perplexity.rows} rows`)
  row('rows cut to the context', ({ perplexity }) => positive(perplexity?.truncated))
  row('reward', ({ rewards }) => rewards && (rewards.reward ? spread(rewards.reward) : 'none'))
  for (const name of componentsOf(models))
    row(`  ${name}`, ({ rewards }) => rewards?.components[name] && spread(rewards.components[name]))
  row('rewards that failed', ({ rewards }) => rewards && failures(rewards.failed, rewards.failuresByReason))
  row('accuracy', ({ accuracy }) =>
    accuracy?.value === undefined ? undefined : `${percent(accuracy.value)} ${between(accuracy.interval!)}`,
  )
  for (const { k } of (model.accuracy?.passAt ?? []).filter(one => one.k > 1))
    row(`pass@${k}`, ({ accuracy }) => {
      const found = accuracy?.passAt.find(one => one.k === k)
      return found && percent(found.value)
    })
  row(`BLEU (${model.bleu?.tokenizer ?? ''})`, ({ bleu }) => bleu && numberText(bleu.score))
  row('ROUGE-L', ({ rougeL }) => rougeL && numberText(rougeL.fmeasure))
  row('tokens of an answer', ({ answers }) =>
    answers?.meanTokens === undefined ? undefined : numberText(answers.meanTokens),
  )
  for (const [name, key] of [
    ['turns of an episode', 'meanTurns'],
    ['tool calls of an episode', 'meanCalls'],
  ] as const)
    row(name, ({ answers }) => (answers?.[key] === undefined ? undefined : numberText(answers[key])))
  row('answers cut off', ({ answers }) =>
    answers?.truncatedShare === undefined ? undefined : percent(answers.truncatedShare),
  )
  row('no answer', ({ answers }) => answers && failures(sum(answers.unanswered), answers.unanswered))
  row('prompts too long', ({ answers }) => positive(answers?.overlong))
  const { samples, temperature, seed, data } = settings
  const prompts = model.answers
    ? `: ${model.answers.prompts} prompts, ${samples} ${samples === 1 ? 'answer' : 'answers'} each at temperature ${temperature}, seed ${seed}`
    : ''
  const heading = reference ? [{ name: '', cells: ['model', 'reference'] }] : []
  const names = reference ? `${model.directory} and ${reference.directory} (reference)` : model.directory
  const won = winRate
    ? [
        `win rate over the reference: ${percent(winRate.rate)} ${between(winRate.interval)}: ${winRate.wins} wins, ${winRate.ties} ties, ${winRate.losses} losses over ${winRate.prompts} prompts${winRate.missing > 0 ? `; ${winRate.missing} prompts have no rewards to compare` : ''}`,
      ]
    : []
  const left = Object.entries(leftOut).map(([name, why]) => `not measured: ${name}: ${firstLines(why)}`)
  const lines = [`${names} on ${data.join(', ')}${prompts}`, '', ...aligned([...heading, ...rows]), ...won, ...left, '']
  // Remove control codes from names of files, columns and rewards.
  return lines.map(line => line.replace(/\p{Cc}/gu, '?')).join('\n')
}

function aligned(rows: readonly { name: string; cells: readonly Cell[] }[]): string[] {
  const width = Math.max(0, ...rows.map(({ name }) => name.length))
  const columns = Math.max(0, ...rows.map(({ cells }) => cells.length))
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map(({ cells }) => (cells[i] ?? '-').length)),
  )
  return rows.map(({ name, cells }) =>
    `  ${name.padEnd(width)}  ${cells.map((cell, i) => (cell ?? '-').padEnd(widths[i]!)).join('  ')}`.trimEnd(),
  )
}

function componentsOf(models: readonly ModelEvaluation[]): string[] {
  const names = [...new Set(models.flatMap(({ rewards }) => Object.keys(rewards?.components ?? {})))]
  return names.length > 1 ? names : []
}

/** What is wrong with a file, and its first row. */
const firstLines = (why: string): string =>
  why
    .split('\n', 2)
    .map(line => line.trim())
    .join(': ')

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const between = ({ low, high }: Interval): string => `(${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`
const spread = ({ mean, std }: { mean: number; std: number }): string => `${numberText(mean)} ± ${numberText(std)}`
const positive = (count: number | undefined): Cell => (count === undefined || count === 0 ? undefined : String(count))
const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0)

function failures(count: number, byReason: Readonly<Record<string, number | undefined>>): Cell {
  if (count === 0) return undefined
  const reasons = Object.entries(byReason).map(([reason, times]) => `${reason} ${times}`)
  return `${count} (${reasons.join(', ')})`
}
