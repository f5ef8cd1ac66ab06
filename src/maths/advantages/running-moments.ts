import { z } from 'zod'
import { type Moments, mergeMoments, momentsOf } from './moments.js'

/**
 * Mean and variance of every reward seen so far. A plain value: it is saved in a checkpoint as JSON, and an evaluation that does
 * not keep the updated value cannot change it.
 */
export interface RunningMoments {
  readonly mean: number
  /** Population variance. */
  readonly var: number
  readonly count: number
}

/** Initial value. The tiny count avoids a division by zero and has no weight. */
export const initialRunningMoments: RunningMoments = { mean: 0, var: 1, count: 1e-24 }

const runningMomentsSchema = z.strictObject({ mean: z.number(), var: z.number().min(0), count: z.number().positive() })

/** What a checkpoint holds, checked. */
export function restoreRunningMoments(saved: unknown): RunningMoments {
  return runningMomentsSchema.parse(saved)
}

/**
 * Adds the rewards of one whole rollout. Call it once per rollout: an update per micro-batch would normalise the first ones with
 * fewer rewards than the last.
 *
 * @example
 * const moments = updateRunningMoments(initialRunningMoments, [0, 1, 1, 0])
 * moments.mean // 0.5
 * runningStd(moments) // 0.577
 */
export function updateRunningMoments(moments: RunningMoments, rewards: ArrayLike<number>): RunningMoments {
  return addToRunningMoments(moments, momentsOf(rewards))
}

/** The same from moments that several workers took and merged. */
function addToRunningMoments(moments: RunningMoments, batch: Moments): RunningMoments {
  if (batch.count === 0) return moments
  const { count, mean, m2 } = mergeMoments(
    { count: moments.count, mean: moments.mean, m2: moments.var * moments.count },
    batch,
  )
  return { mean, var: m2 / count, count }
}

/** With so few or so equal rewards the scale is unknown: dividing by it would only amplify rounding errors. */
const smallestStd = 1e-8

/** The sample standard deviation to divide by: 1 where fewer than two rewards were seen, or where it is below 1e-8. */
export function runningStd({ var: variance, count }: RunningMoments): number {
  if (count <= 1) return 1
  const std = Math.sqrt((variance * count) / (count - 1))
  return std < smallestStd ? 1 : std
}

export function normalizeByRunningMoments(
  rewards: ArrayLike<number>,
  moments: RunningMoments,
  { minusMean }: { minusMean: boolean },
): Float64Array {
  const std = runningStd(moments)
  const center = minusMean ? moments.mean : 0
  return Float64Array.from(rewards, reward => (reward - center) / std)
}
