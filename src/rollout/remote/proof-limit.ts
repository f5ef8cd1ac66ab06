/** How far two implementations of the same weights may differ. Pure. */

/**
 * Largest relative rounding error of a dtype. Dtypes of 8 bits and fewer count as 8 bits; an unknown one counts as bfloat16.
 * float32 is not here: its limit is absolute.
 */
const roundingOf = (dtype: string): number | undefined => {
  if (/float32|fp32/.test(dtype)) return undefined
  if (/float16|fp16|half/.test(dtype) && !/bfloat16/.test(dtype)) return 2 ** -11
  return /8|4|awq|gptq/.test(dtype.replace(/bfloat16/, '')) ? 2 ** -4 : 2 ** -8
}

/** float32 servers agree to 1e-5; ten times that and more is another text, temperature or set of weights. */
export const float32Limit = 1e-3
/** A real model of 30 layers differs by 4 (bfloat16) to 5 (float16) roundings between two implementations. */
const roundings = 8
/** The server's own noise may show that it needs more, up to this. Noise above this is a fault of the server. */
const mostRoundings = 32

/**
 * The largest mean difference of log-probabilities that rounding explains. It grows with the spread of the log-probabilities: where
 * all tokens are about equally likely, logits are small and so are their rounding errors, while other weights differ by as much as
 * the spread itself.
 */
export function explainedDifference(dtype: string, logprobs: Float32Array): number {
  const rounding = roundingOf(dtype)
  return rounding === undefined ? float32Limit : Math.max(float32Limit, roundings * rounding * spreadOf(logprobs))
}

/** What the noise of a server explains: its difference to itself where the same text is computed in another shape. */
export function explainedByNoise(noise: number, logprobs: Float32Array): number {
  return Math.min(roundings * noise, mostRoundings * 2 ** -8 * spreadOf(logprobs))
}

/** The mean absolute difference of rows of the same length. */
export function meanDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / Math.max(1, a.length)
}

function spreadOf(logprobs: Float32Array): number {
  const mean = logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length)
  return logprobs.reduce((sum, value) => sum + Math.abs(value - mean), 0) / Math.max(1, logprobs.length)
}
