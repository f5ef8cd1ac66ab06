/** What a training step needs beside the gradients: the optimiser, and whom to blame where they are not finite. */
import { AdamW, type NonFiniteGradientError, scope } from '../tensor/index.js'
import { NonFiniteError } from './errors.js'
import type { OptimizerOptions } from './loading.js'
import type { LocalModel } from './local-model.js'
import type { Gradients, Role, TrainOptions } from './outputs.js'
import type { Parameters } from './parameters.js'
import type { Sequence } from './sequence.js'

/** Of the weights that are trained; those of the noDecay kinds do not decay. */
export function makeAdamW(weights: Parameters, settings: OptimizerOptions): AdamW {
  const { noDecay = [], weightDecay = 0, ...options } = settings
  const kinds = new Map(weights.weightMap.map(({ name, kind }) => [name, kind]))
  const trained = [...weights.trained()]
  const decays = (name: string): boolean => !noDecay.includes(kinds.get(name) ?? 'matrix')
  const group = (wanted: boolean) => new Map(trained.filter(([name]) => decays(name) === wanted))
  // The rate of each step comes in as the scale of a rate of 1.
  return new AdamW([
    { parameters: group(true), lr: 1, weightDecay, ...options },
    { parameters: group(false), lr: 1, weightDecay: 0, ...options },
  ])
}

/** A call of `forwardBackward`. */
export interface TrainCall<R extends Role> {
  sequences: readonly Sequence[]
  options: TrainOptions
  /** Of the loss, by sequence. */
  gradients: Map<number, Gradients[R]>
}

/**
 * Finds the sequence behind a gradient that is not finite, by going through them again one by one. The model's own
 * gradients are lost on the way.
 */
export async function blame<R extends Role>(
  model: LocalModel<R>,
  calls: readonly TrainCall<R>[],
  error: NonFiniteGradientError,
): Promise<Error> {
  for (const [number, { sequences, options, gradients }] of calls.entries()) {
    const { from, groupSize: _, ...rest } = options
    for (const [index, gradient] of gradients) {
      model.zeroGrad()
      const first = typeof from === 'object' ? from[index] : from
      await model.forwardBackward([sequences[index]!], () => [gradient], {
        ...rest,
        ...(first === undefined ? {} : { from: first }),
      })
      const finite = scope(() => [...model.gradients().values()].every(own => Number.isFinite(own.norm().item())))
      if (!finite)
        return new NonFiniteError('the gradient', index, {
          cause: error,
          ...(calls.length > 1 && { call: number + 1 }),
        })
    }
  }
  return error
}
