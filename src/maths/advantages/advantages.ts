import { clipInPlace } from './clip.js'
import { normalizationEpsilon } from './moments.js'
import { tokenStatistics } from './statistics.js'

/**
 * Whitens the advantages of a rollout, `advantages[sample][token]`, to mean 0 and standard deviation 1 over all tokens, in place.
 * If all advantages are equal they become 0.
 */
export function whitenInPlace(advantages: readonly Float64Array[]): void {
  const statistics = tokenStatistics(advantages)
  if (!statistics) return
  const { mean, std, min, max } = statistics
  const scale = std + normalizationEpsilon
  for (const tokens of advantages) {
    if (min === max) tokens.fill(0)
    else for (let t = 0; t < tokens.length; t++) tokens[t] = (tokens[t]! - mean) / scale
  }
}

/** Clips `advantages[sample][token]` to ±limit in place; returns the share of tokens outside. */
export function clipAdvantagesInPlace(advantages: readonly Float64Array[], limit: number): number {
  let clipped = 0
  let tokens = 0
  for (const values of advantages) {
    clipped += clipInPlace(values, limit)
    tokens += values.length
  }
  return tokens === 0 ? 0 : clipped / tokens
}
