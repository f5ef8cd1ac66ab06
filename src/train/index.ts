/**
 * Training. The losses are pure: numbers per token in, the value and its gradient with respect to those numbers out, in float64.
 *
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { value, gradients } = objective({ samples, totals: tokenTotals([2]), options: { loss: 'ppo' } })
 */
export * from './losses/index.js'
export {
  type MetricSummary,
  type ProgressOptions,
  type TrainProgress,
  trainProgress,
} from './progress.js'
