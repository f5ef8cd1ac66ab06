/** Options of a reinforcement learning run that its other options leave without effect. */
import { experienceIdle, type IdleRule, optimizerIdle, validationIdle } from '../config/idle-options.js'
import { type RlConfig, referenceOf, updatesPerIteration } from './config.js'

export const rlIdle: readonly IdleRule<RlConfig>[] = [
  ...experienceIdle,
  validationIdle(['evaluation']),
  optimizerIdle('optimizer', config => config.optimizer),
  optimizerIdle('critic.optimizer', config => config.critic?.optimizer),
  {
    options: ['epochs'],
    why: ({ iterations }) => (iterations === undefined ? undefined : 'iterations is set'),
  },
  {
    options: ['useKlLoss', 'klEstimator'],
    why: config => (referenceOf(config) === 'none' ? 'klController.coef is 0, so KL is not measured' : undefined),
  },
  {
    options: ['targetKl'],
    why: config => (updatesPerIteration(config) === 1 ? 'an iteration has only one optimiser step' : undefined),
  },
]
