import { expect } from 'vitest'

/** Every number within 1e-9, absolutely and for larger ones relatively. */
export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, what = ''): void {
  expect(actual.length, what).toBe(expected.length)
  for (let i = 0; i < expected.length; i++) {
    const allowed = 1e-9 * Math.max(1, Math.abs(expected[i]!))
    // A NaN is close to nothing.
    if (!(Math.abs(actual[i]! - expected[i]!) <= allowed))
      expect.fail(`${what}[${i}]: expected ${expected[i]}, got ${actual[i]}`)
  }
}
