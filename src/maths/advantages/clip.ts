/** Clips numbers to ±limit in place and returns how many were outside. A limit of 0 clips nothing. */
export function clipInPlace(values: Float64Array, limit: number): number {
  if (!(limit >= 0)) throw new RangeError(`a clipping limit is 0 (off) or more, got ${limit}`)
  if (limit === 0) return 0
  let clipped = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (value > limit) values[i] = limit
    else if (value < -limit) values[i] = -limit
    else continue
    clipped++
  }
  return clipped
}
