/**
 * Count, mean and sum of squared deviations of some numbers. Moments of parts merge into the moments of the whole, so a
 * statistic does not depend on how a rollout was split into micro-batches or workers.
 *
 * @example
 * const whole = mergeMoments(momentsOf([1, 2]), momentsOf([3]))
 * whole.mean // 2
 * sampleStd(whole) // 1
 */
export interface Moments {
  readonly count: number
  readonly mean: number
  /** Sum of the squared deviations from the mean. */
  readonly m2: number
}

export const noMoments: Moments = { count: 0, mean: 0, m2: 0 }

export function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length
}

export function momentsOf(values: ArrayLike<number>): Moments {
  const count = values.length
  if (count === 0) return noMoments
  const mean = sum(values) / count
  // Two passes: the sum of squares minus the square of the sum loses all digits if the mean is large.
  let m2 = 0
  for (let i = 0; i < count; i++) {
    const deviation = values[i]! - mean
    m2 += deviation * deviation
  }
  return { count, mean, m2 }
}

export function mergeMoments(a: Moments, b: Moments): Moments {
  const count = a.count + b.count
  if (count === 0) return noMoments
  const delta = b.mean - a.mean
  return {
    count,
    mean: a.mean + (delta * b.count) / count,
    m2: a.m2 + b.m2 + (delta * delta * a.count * b.count) / count,
  }
}

/** The standard deviation with n - 1 below the fraction; 0 for fewer than two numbers, which have no spread. */
export function sampleStd({ count, m2 }: Moments): number {
  return count < 2 ? 0 : Math.sqrt(m2 / (count - 1))
}

/** Added to a standard deviation that numbers are divided by, unless an option says otherwise. */
export const normalizationEpsilon = 1e-9

/** Whether all rewards of a group are equal, so that it has no advantage. */
export function allEqual(values: ArrayLike<number>): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] !== values[0]) return false
  return true
}
