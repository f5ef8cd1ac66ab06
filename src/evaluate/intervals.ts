/** How far a share that was measured may be from the true one. Pure. */

export interface Interval {
  readonly low: number
  readonly high: number
}

/** The normal distribution's quantile that leaves 2.5 % above. */
const z = 1.959963984540054

/**
 * Wilson's interval at 95 % for a share of `count` independent trials. Trials may count in part, such as ties as half: their variance
 * is then smaller than that of a coin with the same mean, and the interval wider than it need be. Unlike a bootstrap it does not shrink to a
 * point where all trials went the same way.
 */
export function wilsonInterval(share: number, count: number): Interval {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`a share should be from 0 to 1, got ${share}`)
  if (!(count > 0)) throw new RangeError('an interval of no trials')
  const centre = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count)
  const half = (z / (1 + z ** 2 / count)) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2))
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}
