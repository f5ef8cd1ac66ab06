/** Algorithms by their names: each is a set of options, and nothing else. A config can override what a preset sets. */
import { z } from 'zod'
import { type Definition, define, definitionNamed, isDefinition } from '../../maths/index.js'
import type { RawConfig } from '../config/resolve.js'

export interface AlgorithmDefinition extends Definition<'algorithm'> {
  /** Options of a run, as in its config. Paths in it are relative to its file. */
  readonly set: RawConfig
}

/**
 * A preset of options for a run of `rl`.
 *
 * @example
 * export default defineAlgorithm({
 *   name: 'grpo-long',
 *   description: 'GRPO for long answers',
 *   set: { advantageEstimator: 'group_norm', nSamplesPerPrompt: 16, aggregation: 'token-mean' },
 * })
 */
export function defineAlgorithm(parts: Pick<AlgorithmDefinition, 'name' | 'description' | 'set'>): AlgorithmDefinition {
  const { name, set } = parts
  if (typeof set !== 'object' || set === null)
    throw new TypeError(`algorithm "${name}": set must be an object of options`)
  if ('algorithm' in set) throw new TypeError(`algorithm "${name}": a preset cannot set algorithm`)
  return define({ defines: 'algorithm', options: z.object({}), ...parts })
}

export function isAlgorithm(value: unknown): value is AlgorithmDefinition {
  return isDefinition(value, 'algorithm')
}

const group = { nSamplesPerPrompt: 8 }
const noKl = { klController: { kind: 'fixed', coef: 0 } }
const klLoss = { useKlLoss: true, klEstimator: 'k3' }
const fixed = (name: string, description: string, set: RawConfig) => defineAlgorithm({ name, description, set })

/** One more is an entry here. */
export const algorithms = {
  ppo: fixed('ppo', 'critic, GAE, clipped ratio, KL in the rewards, several passes over each rollout', {
    advantageEstimator: 'gae',
    loss: 'ppo',
    updateEpochs: 4,
  }),
  grpo: fixed('grpo', 'rewards normalised within the samples of a prompt; KL as a loss', {
    advantageEstimator: 'group_norm',
    loss: 'ppo',
    ...group,
    ...klLoss,
  }),
  rloo: fixed('rloo', 'each sample against the mean of the others of its prompt; KL in the rewards', {
    advantageEstimator: 'rloo',
    loss: 'ppo',
    ...group,
  }),
  reinforce: fixed('reinforce', 'plain returns', { advantageEstimator: 'reinforce', loss: 'ppo' }),
  'reinforce++': fixed('reinforce++', 'returns normalised over the whole batch', {
    advantageEstimator: 'reinforce',
    loss: 'ppo',
    advantagesNorm: true,
  }),
  reinforce_baseline: fixed(
    'reinforce_baseline',
    'each sample against the mean of its prompt, normalised over the whole batch',
    { advantageEstimator: 'reinforce_baseline', loss: 'ppo', ...group, advantagesNorm: true },
  ),
  dr_grpo: fixed('dr_grpo', 'GRPO without division by the deviation of the group and by the length of the response', {
    advantageEstimator: 'dr_grpo',
    loss: 'ppo',
    ...group,
    aggregation: 'seq-mean-token-sum-norm',
    ...noKl,
  }),
  dapo: fixed('dapo', 'clip-higher, means over tokens, dynamic sampling, soft length penalty, no KL', {
    advantageEstimator: 'group_norm',
    loss: 'ppo',
    ...group,
    clipHigh: 0.28,
    aggregation: 'token-mean',
    dynamicSampling: true,
    overlongBuffer: true,
    ...noKl,
  }),
  gspo: fixed('gspo', 'ratios of whole sequences with narrow clipping', {
    advantageEstimator: 'group_norm',
    loss: 'gspo',
    ...group,
    clipLow: 3e-4,
    clipHigh: 4e-4,
    ...noKl,
  }),
  gmpo: fixed('gmpo', 'geometric mean of the token ratios', {
    advantageEstimator: 'group_norm',
    loss: 'gmpo',
    ...group,
    clipLow: 0.4,
    clipHigh: 0.4,
    ...noKl,
  }),
  cispo: fixed('cispo', 'clipped importance weights: every token keeps its gradient', {
    advantageEstimator: 'group_norm',
    loss: 'cispo',
    ...group,
    clipLow: 1,
    clipHigh: 4,
    aggregation: 'token-mean',
    ...noKl,
  }),
  cpgd: fixed('cpgd', 'clipped policy gradient with drift', {
    advantageEstimator: 'cpgd',
    loss: 'cpg',
    ...group,
    driftCoef: 0.1,
    ...noKl,
  }),
} as const

export type Algorithm = keyof typeof algorithms
export const algorithmNames = Object.keys(algorithms) as [Algorithm, ...Algorithm[]]

export function algorithmOf(given: Algorithm | AlgorithmDefinition): AlgorithmDefinition {
  return definitionNamed<AlgorithmDefinition>(given, algorithms, 'algorithm')
}
