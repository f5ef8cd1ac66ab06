/** Rounding as Python and C do it: halves go to the even neighbour. */

/** The nearest integer. `Math.round` takes halves up: 2.5 would become 3. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value)
  if (value - below !== 0.5) return Math.round(value)
  return below % 2 === 0 ? below : below + 1
}

/**
 * A number of at least 0 with one decimal. `toFixed` differs where the value is exactly between two: 0.25 would become 0.3.
 *
 * @example
 * oneDecimal(0.25) // '0.2'
 */
export function oneDecimal(value: number): string {
  // A quarter is exact in binary, and its even neighbour is below; three quarters have it above, as toFixed does.
  return value % 1 === 0.25 ? `${Math.floor(value)}.2` : value.toFixed(1)
}
