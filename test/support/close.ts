import { expect } from 'vitest'

/** For numbers of float64: 1e-9, and for larger ones relative to them. */
const exactly = (expected: number): number => 1e-9 * Math.max(1, Math.abs(expected))

/** Every number within a distance; a NaN is close to nothing. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number | ((expected: number) => number) = exactly,
  what = '',
): void {
  expect(actual.length, what).toBe(expected.length)
  for (let i = 0; i < expected.length; i++) {
    const allowed = typeof tolerance === 'number' ? tolerance : tolerance(expected[i]!)
    if (!(Math.abs(actual[i]! - expected[i]!) <= allowed))
      expect.fail(`${what}[${i}]: expected ${expected[i]}, got ${actual[i]}`)
  }
}
