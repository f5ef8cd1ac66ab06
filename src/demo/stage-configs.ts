/** The config of each stage: the same as for `whetstone sft`, `reward train` and `rl`, saved next to the results. */
import type { RawConfig } from '../train/index.js'
import { dataPath } from './prepare.js'
import type { DemoSettings } from './settings.js'

/** In the order they run; `control` is GRPO for a reward that is the same for every answer. */
const stages = ['sft', 'reward', 'ppo', 'grpo', 'control'] as const
export type Stage = (typeof stages)[number]

/** The model that a stage ends with, in its run directory. */
export const modelOf = (stage: Stage): string => (stage === 'reward' ? `${stage}/best_model` : `${stage}/final_model`)

/** Rewards by file, next to the configs. */
export const rewardFiles: Readonly<Record<string, string>> = {
  'reward-model.json': `${JSON.stringify({ sources: { 'reward-model': { type: 'model', path: modelOf('reward') } } })}\n`,
  'verifier.json': `${JSON.stringify({ sources: { right: { type: 'rule', rule: 'exact-match' } } })}\n`,
  'constant.mjs': 'export default () => 1\n',
}

/** Tokens of an answer: the digits, the end, and one to spare. */
export const maxNewTokens = 6

/** A high limit: maxSteps ends the trainings. */
const epochs = 1000

/** Nothing is resumed here: the only checkpoint is the last. */
const saveSteps = 1_000_000

export function stageConfigs(settings: DemoSettings, seed: number): Readonly<Record<Stage, RawConfig>> {
  const common = { seed, device: 'cpu', chatTemplate: 'none', saveSteps }
  const supervised = { ...common, batchSize: 64 }
  const rl = {
    ...common,
    model: modelOf('sft'),
    data: dataPath('prompts'),
    iterations: settings.iterations,
    rolloutBatchSize: 32,
    nSamplesPerPrompt: 8,
    trainBatchSize: 128,
    maxNewTokens,
    exportEvery: settings.measureEvery,
  }
  const ppo = {
    ...rl,
    algorithm: 'ppo',
    updateEpochs: 2,
    optimizer: { lr: 3e-4 },
    critic: { optimizer: { lr: 1e-3 }, valueClip: null },
    // A reward model can give high scores to wrong answers it never saw: KL keeps the policy close to SFT, where the scores are
    // reliable.
    klController: { kind: 'fixed', coef: 0.1 },
  }
  const grpo = { ...rl, algorithm: 'grpo', optimizer: { lr: 5e-4 }, klController: { kind: 'fixed', coef: 0.001 } }
  return {
    sft: {
      ...supervised,
      model: 'base',
      data: dataPath('demonstrations'),
      validationData: dataPath('demonstrations-held-out'),
      output: 'sft',
      epochs,
      maxSteps: settings.sftSteps,
      evalSteps: Math.ceil(settings.sftSteps / 4),
      optimizer: { lr: settings.sftLr, warmupSteps: 20 },
    },
    reward: {
      ...supervised,
      model: modelOf('sft'),
      data: dataPath('preferences'),
      validationData: dataPath('preferences-held-out'),
      output: 'reward',
      epochs,
      maxSteps: settings.rewardSteps,
      evalSteps: Math.ceil(settings.rewardSteps / 4),
      optimizer: { lr: 1e-3, warmupSteps: 20, schedule: 'cosine' },
    },
    ppo: { ...ppo, rewards: 'reward-model.json', output: 'ppo' },
    grpo: { ...grpo, rewards: 'verifier.json', output: 'grpo' },
    control: { ...grpo, rewards: 'constant.mjs', output: 'control' },
  }
}
