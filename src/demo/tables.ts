/** What the demo prints. */
import { pairedRise, type Rise } from './paired-rise.js'
import { type DemoResult, type FinishedStage, type Speaker, speakers } from './run-demo.js'
import { answerTo } from './task.js'

const names: Readonly<Record<Speaker, string>> = {
  base: 'random weights',
  sft: 'SFT',
  ppo: 'PPO',
  grpo: 'GRPO',
  control: 'GRPO, constant reward',
}

/** A stage in a line or two. */
export function stageText({ stage, seconds, prepared, measured, pairAccuracy }: FinishedStage): string {
  const { task, rows, parameters } = prepared
  const head = (title: string): string => `${title.padEnd(44)}${seconds.toFixed(1).padStart(7)} s`
  const rise = (from: Speaker, to: Speaker): string =>
    `held-out accuracy ${percent(measured[from]!.accuracy)} -> ${percent(measured[to]!.accuracy)}`
  switch (stage) {
    case 'prepare': {
      const [example] = task.training.slice(-1)
      return [
        head('data, tokenizer, model'),
        `  ${number(task.training.length)} prompts to train on, ${task.heldOut.length} held out, as "${example}", which is ${answerTo(example!)}`,
        `  a model of ${number(parameters)} parameters, all random: held-out accuracy ${percent(measured.base!.accuracy)}`,
      ].join('\n')
    }
    case 'sft':
      return `${head(`SFT on ${number(rows.demonstrations)} answers of a careless tutor`)}   ${rise('base', 'sft')}`
    case 'reward':
      return `${head(`reward model from ${number(rows.preferences)} pairs`)}   ${percent(pairAccuracy!)} of held-out pairs ranked rightly`
    case 'ppo':
      return `${head('PPO on that reward model')}   ${rise('sft', 'ppo')}`
    case 'grpo':
      return `${head('GRPO on a verifier')}   ${rise('sft', 'grpo')}`
    case 'control':
      return `${head('GRPO on a constant reward, as a control')}   ${rise('sft', 'control')}`
  }
}

/** Every model on the held-out prompts, and how sure it is that it rose above SFT: over the prompts of this run. */
export function resultTable({ measurements }: DemoResult): string {
  const rows = speakers.flatMap(speaker => {
    const own = measurements[speaker]
    if (!own) return []
    const above = speaker === 'base' || speaker === 'sft' ? '' : interval(aboveSft(measurements, speaker))
    return [[names[speaker], percent(own.accuracy), percent(own.greedyAccuracy), own.reward.toFixed(2), above]]
  })
  return columns([['', 'accuracy', 'likeliest answer', 'reward', 'accuracy above SFT, 95 % interval'], ...rows])
}

function aboveSft(measurements: DemoResult['measurements'], speaker: Speaker): Rise {
  return pairedRise(measurements[speaker]!.accuracies, measurements.sft!.accuracies)
}

/** Means over seeds with the lowest and highest, and the rise above SFT, paired by seed. */
export function seedsTable(results: readonly DemoResult[]): string {
  const rows = speakers.flatMap(speaker => {
    const own = results.flatMap(({ measurements }) => measurements[speaker] ?? [])
    if (own.length === 0) return []
    const spread = (values: readonly number[], show: (value: number) => string): string =>
      `${show(meanOf(values))} (${show(Math.min(...values))} to ${show(Math.max(...values))})`
    const accuracy = own.map(one => one.accuracy)
    const above =
      speaker === 'base' || speaker === 'sft' ? '' : interval(pairedRise(accuracy, accuracyOf(results, 'sft')))
    return [
      [
        names[speaker],
        spread(accuracy, percent),
        spread(
          own.map(one => one.greedyAccuracy),
          percent,
        ),
        spread(
          own.map(one => one.reward),
          value => value.toFixed(2),
        ),
        above,
      ],
    ]
  })
  return columns([['', 'accuracy', 'likeliest answer', 'reward', 'accuracy above SFT, 95 % interval'], ...rows])
}

const accuracyOf = (results: readonly DemoResult[], speaker: Speaker): number[] =>
  results.map(({ measurements }) => measurements[speaker]!.accuracy)

export function examplesTable({ examples, measurements }: DemoResult): string {
  const shown = speakers.filter(speaker => measurements[speaker])
  const rows = examples.map(({ prompt, target, answers }) => [
    prompt,
    ...shown.map(speaker => printable(answers[speaker]!)),
    target,
  ])
  return columns([['prompt', ...shown.map(speaker => names[speaker]), 'right'], ...rows])
}

export function secondsText({ seconds }: DemoResult): string {
  return Object.entries(seconds)
    .map(([what, value]) => `${what} ${value.toFixed(1)}`)
    .join(', ')
}

/** How to use what was made. */
export function nextSteps(directory: string): string {
  const model = `${directory}/grpo/final_model`
  return [
    'Talk to it: type a prompt such as sort 4172:',
    `  npx whetstone chat --model ${model} --temperature 0`,
    "Serve it over OpenAI's API, and ask:",
    `  npx whetstone serve --model ${model}`,
    `  curl localhost:8000/v1/completions -H 'content-type: application/json' -d '{"model": "final_model", "prompt": "sort 4172:", "temperature": 0}'`,
    'Look at the runs; each was made from the config beside it, such as grpo.json:',
    `  npx whetstone runs ${directory}`,
  ].join('\n')
}

/** What a model of random weights says is any bytes at all. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?')

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const number = (value: number): string => value.toLocaleString('en')
const points = (share: number): string => `${share < 0 ? '-' : '+'}${(100 * Math.abs(share)).toFixed(1)}`
const interval = ({ mean, low, high }: Rise): string => `${points(mean)} points (${points(low)} to ${points(high)})`

function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map(row => row[at]!.length)))
  return rows.map(row => `  ${row.map((cell, at) => cell.padEnd(widths[at]!)).join('   ')}`.trimEnd()).join('\n')
}
