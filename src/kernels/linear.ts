/**
 * Linear maps by the faster of libtorch's two matrix libraries. MKL takes a slower path on AMD's processors, where oneDNN's
 * products are a tenth faster. The choice is by the processor, never by a measurement: the same machine computes the same bits.
 */

import { cpus } from 'node:os'
import {
  linear as atenLinear,
  callOperator,
  customFunction,
  type Device,
  type DType,
  OutOfMemoryError,
  Tensor,
  TensorError,
} from '../tensor/index.js'

export interface LinearOps {
  /** `x @ weight.T + bias`. A weight that requires no gradient gets none. */
  linear(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor
  /** `x @ weight.T` where nothing is differentiated. */
  product(x: Tensor, weight: Tensor): Tensor
}

const aten: LinearOps = { linear: atenLinear, product: (x, weight) => atenLinear(x, weight) }

const oneDnn = (x: Tensor, weight: Tensor, bias: Tensor | null): Tensor =>
  callOperator('mkldnn::_linear_pointwise', x, weight, bias, 'none', [], null) as Tensor

/**
 * The gradient of the weight is left to MKL: oneDNN would have to transpose both its sides first. The input is kept for this
 * gradient alone: a frozen weight keeps none, as in libtorch's own linear map.
 */
function differentiable(trainWeight: boolean) {
  const saved = (x: Tensor, weight: Tensor): Tensor[] => (trainWeight ? [weight, x] : [weight])
  const inputGradients = ([weight, x]: readonly Tensor[], gradient: Tensor): (Tensor | null)[] => [
    oneDnn(gradient, weight!.t(), null),
    x ? gradient.t().mm(x) : null,
  ]
  return {
    plain: customFunction({
      inputs: ['tensor', 'tensor'],
      forward: (x, weight) => ({ outputs: oneDnn(x, weight, null), saved: saved(x, weight) }),
      backward: ({ saved, gradients: [gradient] }) => inputGradients(saved, gradient!),
    }),
    biased: customFunction({
      inputs: ['tensor', 'tensor', 'tensor'],
      forward: (x, weight, bias) => ({ outputs: oneDnn(x, weight, bias), saved: saved(x, weight) }),
      backward: ({ saved, gradients: [gradient] }) => [
        ...inputGradients(saved, gradient!),
        trainWeight ? gradient!.sum([0]) : null,
      ],
    }),
  }
}

function makeOneDnn(): LinearOps {
  const [frozen, trained] = [differentiable(false), differentiable(true)]
  return {
    linear: (x, weight, bias) => {
      const { plain, biased } = weight.requiresGrad ? trained : frozen
      return bias ? biased(x, weight, bias) : plain(x, weight)
    },
    product: (x, weight) => oneDnn(x, weight, null),
  }
}

let chosen: LinearOps | undefined

/** For weights of one device and dtype; they exist when a model is recorded, its activations do not. */
export function linearOps({ device, dtype }: { device: Device; dtype: DType }): LinearOps {
  if (device !== 'cpu' || dtype !== 'float32') return aten
  chosen ??= cpus()[0]?.model.includes('AMD') && hasOneDnn() ? makeOneDnn() : aten
  return chosen
}

function hasOneDnn(): boolean {
  try {
    const x = Tensor.from([[1, 2]])
    const y = oneDnn(x, x, null)
    const right = y.item() === 5
    x.dispose()
    y.dispose()
    return right
  } catch (error) {
    // A libtorch that was built without it does not know the operator, or has nothing behind its name.
    if (error instanceof TensorError && !(error instanceof OutOfMemoryError)) return false
    throw error
  }
}
