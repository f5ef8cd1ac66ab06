/** The demo from nothing to trained models: SFT, a reward model, PPO on it, and GRPO on a verifier, each measured on held-out prompts. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChartRun } from '../plot/index.js'
import type { Report } from '../progress/index.js'
import { accuracies, answersOf, greedyAccuracy, mean, type PromptAnswers, rewardsOf } from './answers.js'
import { type PreparedDemo, prepareDemo } from './prepare.js'
import { runStage } from './run-stage.js'
import type { DemoSettings } from './settings.js'
import { modelOf, rewardFiles, type Stage, stageConfigs } from './stage-configs.js'

/** Models that answer prompts; `base` has random weights. */
export const speakers = ['base', 'sft', 'ppo', 'grpo', 'control'] as const
export type Speaker = (typeof speakers)[number]

/** On held-out prompts. */
export interface Measurement {
  /** Share of right answers at temperature 1, for each prompt. */
  readonly accuracies: readonly number[]
  readonly accuracy: number
  /** Share of prompts whose likeliest answer is right. */
  readonly greedyAccuracy: number
  /** The reward model's mean score of the same answers. */
  readonly reward: number
}

/** Panels of the picture. */
export const curveNames = { accuracy: 'held-out accuracy', reward: 'held-out reward (reward model)' } as const

interface DemoOptions {
  /** It must not exist, or be empty. */
  readonly directory: string
  readonly settings: DemoSettings
  readonly seed: number
  /** Whether GRPO also runs on a reward that is the same for every answer. */
  readonly control: 'run' | 'skip'
  /** Told of everything as it is done. */
  readonly onStage: (stage: FinishedStage) => void
  readonly report: Report
  readonly signal: AbortSignal
}

/** A stage that is done: what it took and how its model, or the one it scores, now answers. */
export interface FinishedStage {
  readonly stage: 'prepare' | Stage
  readonly seconds: number
  readonly prepared: PreparedDemo
  readonly measured: Readonly<Partial<Record<Speaker, Omit<Measurement, 'reward'>>>>
  /** Held-out pairs that the reward model ranks rightly, once there is one. */
  readonly pairAccuracy: number | undefined
}

export interface DemoResult {
  readonly directory: string
  readonly seed: number
  readonly measurements: Readonly<Partial<Record<Speaker, Measurement>>>
  readonly pairAccuracy: number
  readonly seconds: Readonly<Partial<Record<'prepare' | Stage | 'measure', number>>>
  /** Held-out accuracy and reward by iteration, for the picture. */
  readonly curves: readonly ChartRun[]
  /** Three held-out prompts with the first samples of each model. */
  readonly examples: readonly Readonly<{
    prompt: string
    target: string
    answers: Partial<Record<Speaker, string>>
  }>[]
}

export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { directory, settings, seed, onStage, report, signal } = options
  const seconds: Partial<Record<'prepare' | Stage | 'measure', number>> = {}
  const timed = async <T>(what: keyof typeof seconds, work: () => Promise<T>): Promise<T> => {
    const started = performance.now()
    const made = await work()
    seconds[what] = (seconds[what] ?? 0) + (performance.now() - started) / 1000
    return made
  }

  const prepared = await timed('prepare', () => prepareDemo(directory, { settings, seed, signal }))
  for (const [file, text] of Object.entries(rewardFiles)) await writeFile(join(directory, file), text)
  const { heldOut } = prepared.task
  const answers = (model: string): Promise<PromptAnswers[]> =>
    timed('measure', () =>
      answersOf(join(directory, model), { prompts: heldOut, samples: settings.samples, seed, signal }),
    )
  const said: Partial<Record<Speaker, PromptAnswers[]>> = { base: await answers('base') }
  let pairAccuracy: number | undefined
  const finish = (stage: 'prepare' | Stage): void =>
    onStage({ stage, seconds: seconds[stage]!, prepared, measured: measuredSoFar(said), pairAccuracy })
  finish('prepare')

  const configs = stageConfigs(settings, seed)
  const train = (stage: Stage) =>
    timed(stage, () => runStage(stage, { directory, values: configs[stage], report, signal }))

  await train('sft')
  said.sft = await answers(modelOf('sft'))
  finish('sft')

  pairAccuracy = (await train('reward')).best?.value ?? 0
  finish('reward')

  const learners = options.control === 'run' ? (['ppo', 'grpo', 'control'] as const) : (['ppo', 'grpo'] as const)
  const curves: ChartRun[] = []
  const score = (given: readonly PromptAnswers[]): Promise<number[]> =>
    timed('measure', () => rewardsOf(join(directory, modelOf('reward')), given, { signal }))
  for (const stage of learners) {
    await train(stage)
    said[stage] = await answers(modelOf(stage))
    finish(stage)
    const points = [{ step: 0, answers: said.sft }]
    for (let step = settings.measureEvery; step < settings.iterations; step += settings.measureEvery) {
      const model = join(stage, `iteration_${`${step}`.padStart(6, '0')}`)
      if (existsSync(join(directory, model))) points.push({ step, answers: await answers(model) })
    }
    points.push({ step: settings.iterations, answers: said[stage]! })
    curves.push(await curveOf(stage, points, score))
  }

  const measurements: Partial<Record<Speaker, Measurement>> = {}
  for (const speaker of speakers) {
    const own = said[speaker]
    if (own) measurements[speaker] = { ...measuredOf(own), reward: mean(await score(own)) }
  }
  return { directory, seed, measurements, pairAccuracy, seconds, curves, examples: examplesOf(said) }
}

function measuredOf(answers: readonly PromptAnswers[]): Omit<Measurement, 'reward'> {
  const each = accuracies(answers)
  return { accuracies: each, accuracy: mean(each), greedyAccuracy: greedyAccuracy(answers) }
}

function measuredSoFar(said: Partial<Record<Speaker, PromptAnswers[]>>): FinishedStage['measured'] {
  return Object.fromEntries(Object.entries(said).map(([speaker, answers]) => [speaker, measuredOf(answers)]))
}

async function curveOf(
  name: string,
  points: readonly { step: number; answers: readonly PromptAnswers[] }[],
  score: (answers: readonly PromptAnswers[]) => Promise<number[]>,
): Promise<ChartRun> {
  const accuracy = points.map(({ step, answers }) => ({ step, value: mean(accuracies(answers)) }))
  const reward: { step: number; value: number }[] = []
  for (const { step, answers } of points) reward.push({ step, value: mean(await score(answers)) })
  return {
    name,
    metrics: new Map([
      [curveNames.accuracy, accuracy],
      [curveNames.reward, reward],
    ]),
  }
}

/** The first three: held-out prompts come in the order of their hashes, which is none. */
function examplesOf(said: Partial<Record<Speaker, PromptAnswers[]>>): DemoResult['examples'] {
  return said.base!.slice(0, 3).map(({ prompt, target }, at) => ({
    prompt,
    target,
    answers: Object.fromEntries(Object.entries(said).map(([speaker, own]) => [speaker, firstSamples(own[at]!)])),
  }))
}

const firstSamples = ({ sampled }: PromptAnswers): string =>
  sampled
    .slice(0, 3)
    .map(({ text }) => text)
    .join(' ')
