/** Log-probabilities of engines that can be compared with those of the trainer. */
import type { SampleLogprobs } from '../../rollout/index.js'

/**
 * Log-probabilities of the sampling distribution. At temperature 1 without filters the raw ones are equal, except for altered
 * tokens (`alteredTokens`), which are not compared.
 */
export function comparableLogprobs({ processed, raw }: SampleLogprobs, temperature: number): Float32Array | undefined {
  return processed ?? (temperature === 1 ? raw : undefined)
}
