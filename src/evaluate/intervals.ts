/** Confidence intervals of measured shares. Pure. */

export interface Interval {
  readonly low: number
  readonly high: number
}

/** The normal distribution's quantile that leaves 2.5 % above. */
const z = 1.959963984540054

/**
 * Wilson's interval at 95 % for a share of `count` independent trials. Unlike a bootstrap it does not shrink to a point where all trials
 * went the same way.
 */
export function wilsonInterval(share: number, count: number): Interval {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a share should be from 0 to 1, got ${share}`)
  if (!(count > 0)) throw new RangeError('an interval of no trials')
  const centre = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count)
  const half = (z / (1 + z ** 2 / count)) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2))
  // At the ends the formula gives them, but for rounding.
  return { low: share === 0 ? 0 : centre - half, high: share === 1 ? 1 : centre + half }
}

/**
 * The same for the mean of independent numbers from 0 to 1, such as the share of correct answers per prompt, or half a point for
 * a tie. They vary less than coin tosses with the same mean, so the interval uses the number of tosses with the same variance, at
 * least as many as there are numbers: ties and several answers per prompt make it narrower. The variance is estimated with an
 * additional 0 and 1, because a few equal numbers are no proof.
 */
export function meanInterval(values: readonly number[]): { mean: number; interval: Interval } {
  const { length } = values
  if (length === 0) throw new RangeError('an interval of no trials')
  const mean = Math.min(1, values.reduce((sum, value) => sum + value, 0) / length)
  const squares = [0, 1, ...values].reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const trials = (length * mean * (1 - mean)) / (squares / (length + 2))
  return { mean, interval: wilsonInterval(mean, Math.max(length, trials)) }
}
