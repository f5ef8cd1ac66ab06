import { type AdvantageEstimator, estimatorTraits } from './estimators.js'
import { momentsOf, sampleStd } from './moments.js'

/** Added to the standard deviation of a group unless `groupNormEps` says otherwise, and to whitening's. */
export const normalizationEpsilon = 1e-9

export interface GroupShaping {
  readonly estimator: AdvantageEstimator
  /** Of group_norm, grpo and cpgd: added to the standard deviation that rewards are divided by. Default 1e-9. */
  readonly groupNormEps?: number | undefined
}

export interface OverlongOptions {
  readonly maxNewTokens: number
  readonly overlongBufferLen: number
  readonly overlongBufferPenaltyFactor: number
}

/**
 * What a response loses for reaching into the last `overlongBufferLen` tokens it may have: 0 before them, `-factor` at the end.
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

/** Whether a group teaches nothing: every member earned exactly the same. */
export function allEqual(values: ArrayLike<number>): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] !== values[0]) return false
  return true
}

/**
 * The rewards of one prompt's samples as its estimator compares them. Equal rewards give exactly 0 under every group estimator:
 * a mean that rounding puts one digit off is not a difference.
 *
 * @example
 * shapeGroup([1, 0, 0.5, 0.5], { estimator: 'rloo' }) // 0.667, -0.667, 0, 0
 */
export function shapeGroup(
  rewards: ArrayLike<number>,
  { estimator, groupNormEps = normalizationEpsilon }: GroupShaping,
): Float64Array {
  const { shaping } = estimatorTraits(estimator)
  if (shaping === 'none') return Float64Array.from(rewards)
  const size = rewards.length
  if (size < 2)
    throw new RangeError(`${estimator} compares the samples of a prompt: it needs at least two, got ${size}`)
  if (allEqual(rewards)) return new Float64Array(size)
  const moments = momentsOf(rewards)
  const { mean } = moments
  switch (shaping) {
    case 'mean':
      return Float64Array.from(rewards, reward => reward - mean)
    case 'leave-one-out': {
      const sum = mean * size
      return Float64Array.from(rewards, reward => reward - (sum - reward) / (size - 1))
    }
    case 'standardize': {
      const scale = sampleStd(moments) + groupNormEps
      return Float64Array.from(rewards, reward => (reward - mean) / scale)
    }
  }
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
  const { rewards, groups, estimator, groupNormEps } = options
  const shaped = Float64Array.from(rewards)
  if (estimatorTraits(estimator).shaping === 'none') return shaped
  for (const places of groups) {
    const group = shapeGroup(
      places.map(place => rewards[place]!),
      { estimator, groupNormEps },
    )
    for (const [i, place] of places.entries()) shaped[place] = group[i]!
  }
  return shaped
}
