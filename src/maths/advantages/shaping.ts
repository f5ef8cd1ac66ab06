import type { EstimatorDefinition } from './define-estimator.js'
import { type AdvantageEstimator, estimatorOf, estimatorOptionsOf } from './estimators.js'

/** An estimator, with the options of its own. */
interface GroupShaping {
  readonly estimator: AdvantageEstimator
  readonly estimatorOptions?: Readonly<Record<string, unknown>> | undefined
  /** Of group_norm, grpo and cpgd: added to the standard deviation that rewards are divided by. Default 1e-9. */
  readonly groupNormEps?: number | undefined
}

interface OverlongOptions {
  readonly maxNewTokens: number
  readonly overlongBufferLen: number
  readonly overlongBufferPenaltyFactor: number
}

/**
 * Overlong penalty of a response: 0 before the last `overlongBufferLen` tokens, `-factor` at the end, linear in between.
 *
 * @example
 * overlongPenalty(487, { maxNewTokens: 512, overlongBufferLen: 50, overlongBufferPenaltyFactor: 1 }) // -0.5
 */
export function overlongPenalty(length: number, options: OverlongOptions): number {
  const { maxNewTokens, overlongBufferLen, overlongBufferPenaltyFactor } = options
  const excess = length - (maxNewTokens - overlongBufferLen)
  return excess <= 0 ? 0 : (-excess / overlongBufferLen) * overlongBufferPenaltyFactor
}

/** The same by a config, in which the buffer is off unless it says otherwise. Dynamic sampling looks at rewards with it. */
export function configuredOverlongPenalty(
  length: number,
  options: Omit<OverlongOptions, 'maxNewTokens'> & {
    readonly overlongBuffer: boolean
    readonly maxNewTokens?: number | undefined
  },
): number {
  const { overlongBuffer, maxNewTokens } = options
  return overlongBuffer && maxNewTokens !== undefined ? overlongPenalty(length, { ...options, maxNewTokens }) : 0
}

/**
 * Rewards of the samples of one prompt, compared by the estimator. Equal rewards give exactly 0 under all our group estimators: a
 * rounding error of the mean is not a difference.
 */
export function shapeGroup(rewards: ArrayLike<number>, { estimator, ...given }: GroupShaping): Float64Array {
  const definition = estimatorOf(estimator)
  return shaped(Float64Array.from(rewards), definition, estimatorOptionsOf(definition, given))
}

function shaped(rewards: Float64Array, estimator: EstimatorDefinition, own: Record<string, unknown>): Float64Array {
  if (estimator.compares === 'nothing') return rewards
  if (rewards.length < 2)
    throw new RangeError(
      `${estimator.name} compares the samples of a prompt: it needs at least two, got ${rewards.length}`,
    )
  return estimator.shape(rewards, own)
}

/**
 * Shapes a whole rollout, in the order of its samples. `groups` are the places of each prompt's samples.
 *
 * @example
 * shapeRewards({ rewards: [1, 0, 3, 3], groups: [[0, 1], [2, 3]], estimator: 'dr_grpo' }) // 0.5, -0.5, 0, 0
 */
export function shapeRewards(
  options: GroupShaping & { rewards: ArrayLike<number>; groups: readonly (readonly number[])[] },
): Float64Array {
  const { rewards, groups, estimator, ...given } = options
  const all = Float64Array.from(rewards)
  const definition = estimatorOf(estimator)
  if (definition.compares === 'nothing') return all
  const own = estimatorOptionsOf(definition, given)
  for (const places of groups) {
    const group = shaped(
      Float64Array.from(places, place => rewards[place]!),
      definition,
      own,
    )
    for (const [i, place] of places.entries()) all[place] = group[i]!
  }
  return all
}
