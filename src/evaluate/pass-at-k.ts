/** How often at least one of k answers is right (Chen et al., 2021). Pure. */

/**
 * The probability that k answers drawn without replacement from `total`, of which `correct` are correct, include a correct one:
 * the unbiased estimate of pass@k, unlike 1 - (1 - correct / total)^k.
 */
export function passAtK({ total, correct, k }: { total: number; correct: number; k: number }): number {
  if (!Number.isInteger(k) || k < 1 || k > total)
    throw new RangeError(`pass@${k} of ${total} answers: k should be from 1 to the number of answers`)
  if (!Number.isInteger(correct) || correct < 0 || correct > total)
    throw new RangeError(`${correct} correct answers of ${total} is impossible`)
  let allWrong = 1
  // As a product: binomial coefficients of many answers are too large for a number.
  for (let i = 0; i < k; i++) allWrong *= Math.max(0, total - correct - i) / (total - i)
  return 1 - allWrong
}

/** 1, 2, 4 and so on, and the number of answers itself. */
export function passCounts(answers: number): number[] {
  const counts: number[] = []
  for (let k = 1; k < answers; k *= 2) counts.push(k)
  return [...counts, answers]
}
