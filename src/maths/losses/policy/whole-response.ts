export function mean(values: ArrayLike<number>, length: number): number {
  let sum = 0
  for (let t = 0; t < length; t++) sum += values[t]!
  return sum / length
}

/** What the tokens of a response count together, and how many count at all. */
export function total(coefficients: Float64Array, length: number): { sum: number; kept: number } {
  let sum = 0
  let kept = 0
  for (let t = 0; t < length; t++) {
    sum += coefficients[t]!
    if (coefficients[t] !== 0) kept++
  }
  return { sum, kept }
}
