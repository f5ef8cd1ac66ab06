/** Options of trainings on rows that other options leave without effect. */
import { type IdleRule, optimizerIdle, validationIdle } from '../config/idle-options.js'
import type { RewardModelConfig } from '../reward-model/config.js'
import type { SupervisedConfig } from './config.js'

export const supervisedIdle: readonly IdleRule<SupervisedConfig>[] = [
  validationIdle(['evalSteps']),
  optimizerIdle('optimizer', config => config.optimizer),
]

export const rewardModelIdle: readonly IdleRule<RewardModelConfig>[] = [
  ...supervisedIdle,
  {
    options: ['temperature'],
    why: ({ contrastiveWeight }) =>
      contrastiveWeight === 0 ? 'only the contrastive term uses it, and contrastiveWeight is 0' : undefined,
  },
  {
    options: ['margin'],
    why: ({ rankingWeight }) =>
      rankingWeight === 0 ? 'only the ranking term uses it, and rankingWeight is 0' : undefined,
  },
  {
    options: ['gradientCheckpointing'],
    why: ({ freezeBackbone }) => (freezeBackbone ? 'with freezeBackbone the layers have no backward pass' : undefined),
  },
]
