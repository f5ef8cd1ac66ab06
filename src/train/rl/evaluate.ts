/** Evaluates the policy on held-out prompts. */
import type { ExampleSet, PromptExample } from '../../data/index.js'
import type { FastExperienceMaker, MakeOptions } from '../../experience/index.js'
import { trainedCount } from '../../sequence/index.js'
import type { RlConfig } from './config.js'

interface Evaluation {
  readonly reward: number
  readonly metrics: Readonly<Record<string, number>>
}

/** The held-out prompts that evaluations use: the same every time. */
export async function heldOutPrompts(set: ExampleSet<PromptExample>, maxPrompts: number): Promise<PromptExample[]> {
  const found: PromptExample[] = []
  for await (const part of set.parts(64)) {
    found.push(...part)
    if (found.length >= maxPrompts) break
  }
  return found.slice(0, maxPrompts)
}

/** Undefined where no sample got a reward. Its random numbers are the same every time, so that evaluations can be compared. */
export async function evaluate(options: {
  maker: FastExperienceMaker
  prompts: readonly PromptExample[]
  config: RlConfig['evaluation']
  signal: AbortSignal
  onProgress?: MakeOptions['onProgress']
}): Promise<Evaluation | undefined> {
  const { maker, prompts, config, signal, onProgress } = options
  const held = prompts.map(row => ({ ...row, promptId: `held out/${row.promptId}` }))
  const { groups } = await maker.generateSamples(held, {
    purpose: 'evaluation',
    evaluationSamples: config.nSamplesPerPrompt,
    temperature: config.temperature,
    signal,
    onProgress,
  })
  const samples = groups.flat()
  if (samples.length === 0) return undefined
  const rewards = samples.map(({ reward }) => reward.reward)
  const reward = mean(rewards)
  return {
    reward,
    metrics: {
      'validation/reward': reward,
      'validation/reward_std': Math.sqrt(mean(rewards.map(one => (one - reward) ** 2))),
      'validation/length': mean(samples.map(({ sequence }) => trainedCount(sequence))),
    },
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
