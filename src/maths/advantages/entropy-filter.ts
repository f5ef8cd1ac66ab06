/**
 * Mask of the tokens of one response with a policy loss: 1 for the `max(1, floor(length * ratio))` tokens of highest entropy,
 * earlier tokens first among equals. A ratio of 0 (off) or 1 keeps all.
 *
 * @example
 * highEntropyMask([0.1, 2, 0.5, 2], 0.5) // 0, 1, 0, 1
 */
export function highEntropyMask(entropies: ArrayLike<number>, highEntropyTokenRatio: number): Uint8Array {
  if (!(highEntropyTokenRatio >= 0 && highEntropyTokenRatio <= 1))
    throw new RangeError(`highEntropyTokenRatio is a share between 0 (off) and 1, got ${highEntropyTokenRatio}`)
  const length = entropies.length
  const mask = new Uint8Array(length)
  if (highEntropyTokenRatio === 0 || highEntropyTokenRatio === 1) return mask.fill(1)
  const order: number[] = []
  for (let t = 0; t < length; t++) {
    if (!Number.isFinite(entropies[t])) throw new RangeError(`the entropy of token ${t} is not finite`)
    order.push(t)
  }
  order.sort((a, b) => entropies[b]! - entropies[a]! || a - b)
  const kept = Math.max(1, Math.floor(length * highEntropyTokenRatio))
  for (const t of order.slice(0, kept)) mask[t] = 1
  return mask
}
