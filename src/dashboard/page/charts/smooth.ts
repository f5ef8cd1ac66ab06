/** Smoothing as TensorBoard does it: an exponential mean that does not start at zero. Gaps stay gaps. Pure. */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight === 0) return [...values]
  let mean = 0
  let seen = 0
  return values.map(value => {
    if (value === null) return null
    mean = weight * mean + (1 - weight) * value
    seen++
    return mean / (1 - weight ** seen)
  })
}

/** A logarithmic scale shows what is above zero. */
export const positive = (values: readonly (number | null)[]): (number | null)[] =>
  values.map(value => (value !== null && value > 0 ? value : null))
