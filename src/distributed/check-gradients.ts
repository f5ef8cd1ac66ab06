import { type Gradients, NonFiniteError, type Outputs, type Role } from '../model/index.js'

type Wide = Partial<Record<'logprobs' | 'entropies' | 'values', Float32Array>> & { readonly score?: number }

/**
 * Refuses gradients that do not fit their outputs, on rank 0, where the sequences are known by their place in the call. The rank that
 * computed the outputs knows them by another.
 */
export function checkGradients<R extends Role>(
  outputs: readonly Outputs[R][],
  given: readonly Gradients[R][],
  indices: readonly number[],
): readonly Gradients[R][] {
  if (given.length !== outputs.length)
    throw new RangeError(`${outputs.length} outputs need as many gradients, got ${given.length}`)
  for (const [k, one] of given.entries()) {
    const [output, gradient] = [outputs[k] as Wide, one as Wide]
    const index = indices[k]!
    const { score } = gradient
    if (score !== undefined && !Number.isFinite(score)) throw new NonFiniteError('the gradient', index)
    for (const field of ['logprobs', 'entropies', 'values'] as const) {
      const own = gradient[field]
      if (!own) continue
      const expected = (output[field] ?? output.logprobs ?? output.values)?.length
      if (own.length !== expected)
        throw new RangeError(`the gradient of sequence ${index} has ${own.length} entries, its output ${expected}`)
      if (own.some(value => !Number.isFinite(value))) throw new NonFiniteError('the gradient', index)
    }
  }
  return given
}
