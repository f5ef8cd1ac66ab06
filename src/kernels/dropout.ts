/**
 * Dropout whose mask depends on the place of an element, not on the state of a generator. The mask is the same for every batch,
 * every split of a batch, and when a pass is computed again. The CPU has an operator of its own (native/dropout.cc), CUDA a kernel
 * with the same bits (dropout.cu).
 */
import {
  callOperator,
  customFunction,
  type Device,
  type DType,
  dtypeBytes,
  Kernel,
  type NumberLike,
  type Sym,
  type Tensor,
} from '../tensor/index.js'

export interface DropoutOps {
  /**
   * Drops a fraction `rate` of the elements of `x`, `[rows, columns]`, and scales the others by `1 / (1 - rate)`. `keys` is
   * int32 `[rows, 4]`: seed, step, sequence and position of each row. `stream` tells places in a model apart.
   */
  dropout(x: Tensor, keys: Tensor, options: { stream: number; rate: number }): Tensor
}

/** An element is dropped if its 32-bit word is below `threshold`. The gradient has the same mask. */
type DropRows = (x: Tensor, keys: Tensor, stream: NumberLike, threshold: NumberLike, factor: NumberLike) => Tensor

export function dropoutOps({ device, dtype }: { device: Device; dtype: DType }): DropoutOps {
  const drop = device === 'cpu' ? dropOnCpu : dtype === 'float64' ? dropWide(cudaDrop('float32')) : cudaDrop(dtype)
  const differentiable = customFunction({
    inputs: ['tensor', 'tensor', 'number', 'number', 'number'],
    forward: (x, keys, stream, threshold, factor) => ({
      outputs: drop(x, keys, stream, threshold, factor),
      saved: [keys],
    }),
    backward: ({ saved: [keys], gradients: [gradient], numbers: [stream, threshold, factor] }) => [
      drop(gradient!, keys!, stream!, threshold!, factor!),
      null,
    ],
  })
  return {
    dropout: (x, keys, { stream, rate }) => differentiable(x, keys, stream, Math.round(rate * 2 ** 32), 1 / (1 - rate)),
  }
}

const dropOnCpu: DropRows = (x, keys, stream, threshold, factor) =>
  callOperator('whetstone::dropout', x, keys, stream, threshold, factor) as Tensor

const THREADS = 256

function cudaDrop(dtype: DType): DropRows {
  if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'bfloat16')
    throw new TypeError(`the dropout kernel is for floating-point tensors, not ${dtype}`)
  const kernel = new Kernel({
    file: new URL('./dropout.cu', import.meta.url),
    entry: 'dropout_rows',
    parameters: [
      ...([`tensor:${dtype}`, 'tensor:int32', `tensor:${dtype}`] as const),
      ...(['int64', 'int32', 'int32', 'int64', 'float32'] as const),
    ],
    define: { T: dtype, THREADS },
  })
  const perVector = 16 / dtypeBytes(dtype)
  return (x, keys, stream, threshold, factor) => {
    const input = x.contiguous()
    const out = input.emptyLike()
    // Recorded, so these are values of the program.
    const [rows, columns] = [input.size(0) as unknown as Sym, input.size(1) as unknown as Sym]
    const vectors = columns
      .add(perVector - 1)
      .div(perVector)
      .mul(rows)
    const grid = [vectors.add(THREADS - 1).div(THREADS)] as const
    kernel.launch({ grid, block: [THREADS] }, input, keys, out, rows, columns, stream, threshold, factor)
    return out
  }
}

/** By the mask of another dtype. */
function dropWide(drop: DropRows): DropRows {
  return (x, keys, stream, threshold, factor) => {
    const kept = drop(x.toCopy({ dtype: 'float32' }).fill_(1), keys, stream, threshold, factor)
    return x.mul(kept.ne(0)).mul(factor)
  }
}
