/**
 * Training. The losses are pure: numbers per token in, the value and its gradient with respect to those numbers out, in float64.
 *
 * @example
 * const totals = tokenTotals(batch.map(({ advantages }) => advantages.length))
 * const { value, gradients } = objective({ samples: batch, totals, options: { loss: 'ppo' } })
 */
export * from './losses/index.js'
