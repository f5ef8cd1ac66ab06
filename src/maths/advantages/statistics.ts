import { allEqual, type Moments, mergeMoments, momentsOf, noMoments, sampleStd } from './moments.js'

/** Distribution over samples. Undefined for no samples: see {@link distribution}. */
export interface Distribution {
  readonly mean: number
  readonly min: number
  readonly max: number
  readonly p50: number
  readonly p80: number
}

/** Undefined for no values. Between two values a percentile lies on the straight line, as numpy's does. */
export function distribution(values: ArrayLike<number>): Distribution | undefined {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  return {
    mean: momentsOf(sorted).mean,
    min: sorted[0]!,
    max: sorted.at(-1)!,
    p50: percentile(sorted, 0.5),
    p80: percentile(sorted, 0.8),
  }
}

function percentile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const below = Math.floor(place)
  const low = sorted[below]!
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!
  return low + (high - low) * (place - below)
}

/** Numbers of many tokens, where sorting them for percentiles would cost more than the rest. */
export interface TokenStatistics {
  readonly count: number
  readonly mean: number
  readonly std: number
  readonly min: number
  readonly max: number
}

/** Over `values[sample][token]`; undefined for no tokens. */
export function tokenStatistics(values: readonly ArrayLike<number>[]): TokenStatistics | undefined {
  let moments: Moments = noMoments
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const tokens of values) {
    moments = mergeMoments(moments, momentsOf(tokens))
    for (let t = 0; t < tokens.length; t++) {
      const value = tokens[t]!
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  if (moments.count === 0) return undefined
  return { count: moments.count, mean: moments.mean, std: sampleStd(moments), min, max }
}

/** How the rewards of a prompt's samples differ from each other. */
export interface GroupStatistics {
  readonly count: number
  /** Groups whose members all earned the same: they teach a group estimator nothing. */
  readonly zeroVariance: number
  readonly zeroVarianceShare: number
  /** The mean over groups of the standard deviation inside each. */
  readonly std: number
  /** The mean over groups of the best and of the worst reward. */
  readonly best: number
  readonly worst: number
}

/** Undefined for no groups. */
export function groupStatistics(rewards: readonly ArrayLike<number>[]): GroupStatistics | undefined {
  const count = rewards.length
  if (count === 0) return undefined
  const total = { zeroVariance: 0, std: 0, best: 0, worst: 0 }
  for (const group of rewards) {
    const values = Float64Array.from(group).sort()
    if (allEqual(values)) total.zeroVariance++
    else total.std += sampleStd(momentsOf(values))
    total.worst += values[0]!
    total.best += values.at(-1)!
  }
  return {
    count,
    zeroVariance: total.zeroVariance,
    zeroVarianceShare: total.zeroVariance / count,
    std: total.std / count,
    best: total.best / count,
    worst: total.worst / count,
  }
}
