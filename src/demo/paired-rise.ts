/** Paired differences and the confidence interval of their mean. Pure. */

export interface Rise {
  readonly mean: number
  /** Bounds of the 95 % confidence interval of the mean. */
  readonly low: number
  readonly high: number
}

/** Student's t that leaves 2.5 % above, by degrees of freedom from 1. */
const student = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
]

/**
 * The mean difference of pairs, such as the same prompts after and before, with Student's interval. Beyond 30 degrees of freedom the bound
 * of 30 is used, which is a hair too wide.
 *
 * @example
 * pairedRise([1, 0.75, 1], [0.5, 0.5, 0.25]) // { mean: 0.5, low: -0.12, high: 1.12 }
 */
export function pairedRise(after: readonly number[], before: readonly number[]): Rise {
  const count = after.length
  if (count !== before.length) throw new RangeError(`${count} numbers after, ${before.length} before`)
  if (count < 2) throw new RangeError('an interval needs at least two pairs')
  const differences = after.map((value, i) => value - before[i]!)
  const mean = differences.reduce((sum, value) => sum + value, 0) / count
  const variance = differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1)
  const half = student[Math.min(count - 2, student.length - 1)]! * Math.sqrt(variance / count)
  return { mean, low: mean - half, high: mean + half }
}
