/** The stages and their output directories. */
import { join } from 'node:path'
import { isPreferenceAlgorithm, type PipelineConfig } from './config.js'

/** `ppo` is the last stage, whatever its algorithm. */
export const stageNames = ['sft', 'reward', 'ppo'] as const
export type StageName = (typeof stageNames)[number]

/** The run directory of a stage. The last one's has the name of its algorithm. */
export function stageDirectory({ saveDir, algorithm }: PipelineConfig, stage: StageName): string {
  return join(saveDir, { sft: 'sft', reward: 'reward_model', ppo: algorithm }[stage])
}

/** The model that a stage makes, or the adapter of a last stage that keeps only adapters. */
export function stageModel(config: PipelineConfig, stage: StageName): string {
  const last = config.ppo.keep === 'adapters' ? 'final_adapter' : 'final_model'
  return join(stageDirectory(config, stage), stage === 'ppo' ? last : 'best_model')
}

/** The model that later stages read: a given one, or the result of the stage. */
export function givenOrMade(config: PipelineConfig, stage: 'sft' | 'reward'): string {
  return (stage === 'sft' ? config.sftModel : config.rewardModel) ?? stageModel(config, stage)
}

/** Whether the last stage scores answers by the reward model. */
export function usesRewardModel({ algorithm, ppo }: PipelineConfig): boolean {
  return !isPreferenceAlgorithm(algorithm) && ppo.rewards === undefined
}

/** The stages that a whole pipeline has: those whose model is not given, and a reward model only where one is used. */
export function wholePipeline(config: PipelineConfig): StageName[] {
  const { sftModel, rewardModel } = config
  return [
    ...(sftModel === undefined ? (['sft'] as const) : []),
    ...(usesRewardModel(config) && rewardModel === undefined ? (['reward'] as const) : []),
    'ppo',
  ]
}
