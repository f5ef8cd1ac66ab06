/** How much higher the chosen answer of a pair was scored. */
type ScoreDifference = number

/**
 * The expected calibration error of the probabilities that a reward model's scores stand for: sigmoid of the difference is how
 * sure it is of its winner. Pairs are sorted into bins by that confidence; the error is how far, on average over pairs, a bin's
 * share of right winners is from its confidence. 0 is perfect; a tie is half right.
 */
export function calibrationError(differences: readonly ScoreDifference[], bins = 10): number {
  const found = Array.from({ length: bins }, () => ({ confidence: 0, right: 0 }))
  for (const difference of differences) {
    const confidence = 1 / (1 + Math.exp(-Math.abs(difference)))
    // Confidence in the winner is between a half and 1.
    const bin = found[Math.min(bins - 1, Math.floor((confidence - 0.5) * 2 * bins))]!
    bin.confidence += confidence
    bin.right += difference > 0 ? 1 : difference === 0 ? 0.5 : 0
  }
  return found.reduce((sum, { confidence, right }) => sum + Math.abs(right - confidence), 0) / differences.length
}
