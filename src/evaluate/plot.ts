/** An evaluation as a picture: shares with their intervals, how rewards lie, texts against targets. */
import { basename, resolve } from 'node:path'
import { type BarPanel, barChart, type Drawing } from '../plot/index.js'
import { shortText } from '../progress/index.js'
import type { EvaluationResult } from './evaluate-model.js'
import type { AnswerRecord, ModelEvaluation } from './result.js'

/** With so few different rewards each has its own bar. */
const fewValues = 8
const bins = 8

export function plotEvaluation({ evaluation, answers }: EvaluationResult): Drawing {
  const { model, reference, winRate } = evaluation
  const models = [model, ...(reference ? [reference] : [])]
  const bar = (value: number | undefined) => (value === undefined ? undefined : { value })
  const bars = (number: (one: ModelEvaluation) => number | undefined) => models.map(one => bar(number(one)))
  const some = (label: string, number: (one: ModelEvaluation) => number | undefined) =>
    models.some(one => number(one) !== undefined) ? [{ label, bars: bars(number) }] : []
  const shares = [
    ...(models.some(({ accuracy }) => accuracy?.value !== undefined)
      ? [
          {
            label: 'accuracy',
            bars: models.map(({ accuracy }) =>
              accuracy?.value === undefined ? undefined : { value: accuracy.value, interval: accuracy.interval },
            ),
          },
        ]
      : []),
    ...(model.accuracy?.passAt ?? [])
      .filter(({ k }) => k > 1)
      .flatMap(({ k }) => some(`pass@${k}`, one => one.accuracy?.passAt.find(other => other.k === k)?.value)),
    ...(winRate
      ? [{ label: 'win rate', bars: [{ value: winRate.rate, interval: winRate.interval }], level: 0.5 }]
      : []),
  ]
  const texts = [
    ...some('BLEU', one => one.bleu?.score),
    ...some('ROUGE-L', one => one.rougeL && 100 * one.rougeL.fmeasure),
  ]
  const panels: BarPanel[] = [
    {
      title: 'perplexity',
      axis: 'perplexity',
      groups: some('of the tokens of the assistant', one => one.perplexity?.value),
    },
    { title: 'share, with 95 % intervals', axis: 'share', groups: shares },
    {
      title: 'rewards: share of the answers',
      axis: 'share of the answers',
      groups: distribution([answers.model, answers.reference].slice(0, models.length)),
    },
    { title: 'texts against targets, of 100', axis: 'score', groups: texts },
  ]
  const names = namesOf(models)
  return barChart({ title: names.join(' and '), names, panels: panels.filter(({ groups }) => groups.length > 0) })
}

/** Directories of one name, such as best_model, are told apart by what they lie in. */
function namesOf(models: readonly ModelEvaluation[]): string[] {
  const names = models.map(({ directory }) => basename(resolve(directory)))
  return new Set(names).size === names.length ? names : models.map(({ directory }) => directory)
}

/** The same bars for all models. */
function distribution(models: readonly (readonly AnswerRecord[])[]): BarPanel['groups'] {
  const rewards = models.map(records => records.flatMap(({ reward }) => reward ?? []))
  const values = [...new Set(rewards.flat())].sort((a, b) => a - b)
  if (values.length === 0) return []
  const [low, high] = [values[0]!, values.at(-1)!]
  const few = values.length <= fewValues
  const place = (reward: number): number =>
    few ? values.indexOf(reward) : Math.min(bins - 1, Math.floor(((reward - low) / (high - low)) * bins))
  const labels = few
    ? values.map(value => shortText(value, 2))
    : Array.from({ length: bins }, (_, i) => shortText(low + ((high - low) * (i + 0.5)) / bins, 2))
  return labels.map((label, i) => ({
    label,
    bars: rewards.map(list => ({ value: list.filter(one => place(one) === i).length / Math.max(1, list.length) })),
  }))
}
