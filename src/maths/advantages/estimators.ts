/** What sets one estimator apart from another: options, the command line and the formulas all read the one list below. */
interface EstimatorTraits {
  /** How a sample's reward is compared with those of the same prompt. */
  readonly shaping: 'none' | 'leave-one-out' | 'mean' | 'standardize'
  /** Whether a critic's values are needed. */
  readonly values: 'needed' | 'unused'
  /** Whether the discount is the option's, or always 1. */
  readonly gamma: 'option' | 'one'
}

const estimators = {
  gae: { shaping: 'none', values: 'needed', gamma: 'option' },
  rloo: { shaping: 'leave-one-out', values: 'unused', gamma: 'option' },
  reinforce: { shaping: 'none', values: 'unused', gamma: 'option' },
  reinforce_baseline: { shaping: 'mean', values: 'unused', gamma: 'one' },
  dr_grpo: { shaping: 'mean', values: 'unused', gamma: 'option' },
  group_norm: { shaping: 'standardize', values: 'unused', gamma: 'option' },
  /** Another name of group_norm: the same numbers in every step. */
  grpo: { shaping: 'standardize', values: 'unused', gamma: 'option' },
  cpgd: { shaping: 'standardize', values: 'unused', gamma: 'option' },
} as const satisfies Record<string, EstimatorTraits>

export type AdvantageEstimator = keyof typeof estimators

export const advantageEstimators = Object.keys(estimators) as [AdvantageEstimator, ...AdvantageEstimator[]]

export function estimatorTraits(estimator: AdvantageEstimator): EstimatorTraits {
  return estimators[estimator]
}

/** Whether a sample is compared with others of its prompt, so that a prompt needs several. */
export function isGroupEstimator(estimator: AdvantageEstimator): boolean {
  return estimators[estimator].shaping !== 'none'
}

/** Names that others use for an estimator with certain options, answered where an estimator's name is expected. */
export const estimatorHints: Readonly<Record<string, string>> = {
  'reinforce++': 'REINFORCE++ is the estimator reinforce with advantagesNorm',
  'reinforce++-baseline': 'REINFORCE++ with a baseline is the estimator reinforce_baseline with advantagesNorm',
  dapo: 'DAPO is the estimator group_norm with dynamicSampling and overlongBuffer',
}
