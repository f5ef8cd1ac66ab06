/** 1 / (1 + exp(-x)), exact at both ends. */
export function sigmoid(x: number): number {
  if (x >= 0) return 1 / (1 + Math.exp(-x))
  const e = Math.exp(x)
  return e / (1 + e)
}

/** log sigmoid(x) without overflow: about x where x is very negative. */
export function logSigmoid(x: number): number {
  return Math.min(0, x) - Math.log1p(Math.exp(-Math.abs(x)))
}
