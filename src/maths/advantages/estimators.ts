/** All estimators. To add one, write a file and add a line here. */
import { definitionNamed, ownOptions } from '../definition.js'
import type { EstimatorDefinition } from './define-estimator.js'
import { drGrpo } from './estimators/dr-grpo.js'
import { gae } from './estimators/gae.js'
import { cpgd, groupNorm, grpo } from './estimators/group-norm.js'
import { reinforce } from './estimators/reinforce.js'
import { reinforceBaseline } from './estimators/reinforce-baseline.js'
import { rloo } from './estimators/rloo.js'

export const estimators = {
  gae,
  rloo,
  reinforce,
  reinforce_baseline: reinforceBaseline,
  dr_grpo: drGrpo,
  group_norm: groupNorm,
  grpo,
  cpgd,
} as const satisfies Record<string, EstimatorDefinition>

type EstimatorName = keyof typeof estimators
/** The name of one of ours, or a definition. */
export type AdvantageEstimator = EstimatorName | EstimatorDefinition

export const advantageEstimators = Object.keys(estimators) as [EstimatorName, ...EstimatorName[]]

export function estimatorOf(estimator: AdvantageEstimator): EstimatorDefinition {
  return definitionNamed<EstimatorDefinition>(estimator, estimators, 'estimator')
}

/** Whether a sample is compared with others of its prompt, so that a prompt needs several. */
export function comparesSamples(estimator: AdvantageEstimator): boolean {
  return estimatorOf(estimator).compares === 'samples of a prompt'
}

/** Its own options: those of `estimatorOptions`, and the common ones that it has under the same name. */
export function estimatorOptionsOf(
  estimator: EstimatorDefinition,
  config: { readonly estimatorOptions?: Readonly<Record<string, unknown>> | undefined },
): Record<string, unknown> {
  return ownOptions(estimator, config, config.estimatorOptions)
}

/** Names of other systems for an estimator with certain options, used as hints. */
export const estimatorHints: Readonly<Record<string, string>> = {
  'reinforce++': 'REINFORCE++ is the estimator reinforce with advantagesNorm',
  'reinforce++-baseline': 'REINFORCE++ with a baseline is the estimator reinforce_baseline with advantagesNorm',
  dapo: 'DAPO is the estimator group_norm with dynamicSampling and overlongBuffer',
}
