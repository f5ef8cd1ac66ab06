/** Numbers in [0, 1). */
export type Random = () => number

const firstMs = 200
const longestMs = 20_000

/**
 * Milliseconds to wait after the given attempt: as the server requested, or doubling each time, half of it random, so that
 * callers that failed together do not retry together.
 */
export function retryDelay(attempt: number, asked: number | undefined, random: Random): number {
  if (asked !== undefined) return asked
  return Math.min(longestMs, firstMs * 2 ** (attempt - 1)) * (0.5 + random() / 2)
}
