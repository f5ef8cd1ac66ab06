/** Options of a reinforcement learning run that its other options leave without effect. */
import { experienceIdle, optimizerIdle, validationIdle } from '../config/idle-options.js';
import { referenceOf, updatesPerIteration } from './config.js';
export const rlIdle = [
    ...experienceIdle,
    validationIdle(['evaluation']),
    optimizerIdle('optimizer', config => config.optimizer),
    optimizerIdle('critic.optimizer', config => config.critic?.optimizer),
    {
        options: ['epochs'],
        why: ({ iterations }) => (iterations === undefined ? undefined : 'iterations says how many there are'),
    },
    {
        options: ['useKlLoss', 'klEstimator'],
        why: config => (referenceOf(config) === 'none' ? 'klController.coef is 0, so that KL is not measured' : undefined),
    },
    {
        options: ['targetKl'],
        why: config => updatesPerIteration(config) === 1 ? 'an iteration has one optimiser step, and no later one to stop' : undefined,
    },
];
//# sourceMappingURL=idle-options.js.map