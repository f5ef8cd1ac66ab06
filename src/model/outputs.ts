/** Ragged outputs and gradients of models, and their conversion to and from tensors of a batch. */
import type { Tensor } from '../tensor/index.js'
import type { BatchPlan } from './batch.js'
import { NonFiniteError } from './errors.js'
import { keptCount, type Wanted } from './model-input.js'

/** What a model answers with: log-probabilities, a value per token, or a score per sequence. */
export const roles = ['language', 'value', 'reward'] as const
export type Role = (typeof roles)[number]

export interface Outputs {
  language: {
    /** One for each trained token; of bare ids, for each of the tokens `from..n`. */
    logprobs: Float32Array
    /** Of the distributions those tokens were drawn from. Where they were asked for. */
    entropies?: Float32Array
  }
  /** The value of the state before each of those tokens. */
  value: { values: Float32Array }
  /** At the last token; at the last that is not padding where the checkpoint asks for that. */
  reward: { score: number }
}

/** Gradients of a loss with respect to what a model answered; what is left out is zero. */
export interface Gradients {
  language: { logprobs?: Float32Array; entropies?: Float32Array }
  value: { values: Float32Array }
  reward: { score: number }
}

export interface ScoreOptions {
  /**
   * Of bare ids: the first token whose log-probability or value is wanted, for all inputs or each; at least 1, which is the default.
   * A sequence says itself which tokens are trained.
   */
  from?: number | readonly number[]
  entropy?: boolean
  /** Logits are divided by it. Default 1. */
  temperature?: number
  /** `off`: the weights without their adapter, which is a LoRA actor's reference model. */
  adapter?: 'on' | 'off'
  /** `off`: pad sequences to a rectangle. The numbers are the same. */
  packing?: 'on' | 'off'
  signal?: AbortSignal
  onProgress?: (done: number) => void
}

export interface TrainOptions extends Pick<ScoreOptions, 'from' | 'entropy' | 'temperature' | 'packing' | 'signal'> {
  /** This many consecutive sequences come to the callback together. */
  groupSize?: number
}

/** Outputs as ragged arrays; a number that is not finite names its sequence. */
export async function readOutputs<R extends Role>(
  role: R,
  plan: BatchPlan,
  ranges: readonly Wanted[],
  tensors: readonly Tensor[],
): Promise<Outputs[R][]> {
  const arrays = (await Promise.all(tensors.map(tensor => tensor.data<'float32'>()))) as Float32Array[]
  let at = 0
  return plan.sequences.map((index, k) => {
    const { start, end, kept } = ranges[k]!
    const slices = arrays.map(array =>
      kept ? Float32Array.from(kept, offset => array[at + offset]!) : array.slice(at, at + end - start),
    )
    at += end - start
    for (const slice of slices)
      if (slice.some(value => !Number.isFinite(value))) throw new NonFiniteError('the output', index)
    const [first, second] = slices as [Float32Array, Float32Array?]
    if (role === 'language') return { logprobs: first, ...(second ? { entropies: second } : {}) } as Outputs[R]
    return (role === 'value' ? { values: first } : { score: first[0]! }) as Outputs[R]
  })
}

/** Ragged gradients as one array per output, checked; zero for tokens that are not trained. */
export function flattenGradients<R extends Role>(
  role: R,
  plan: BatchPlan,
  ranges: readonly Wanted[],
  given: readonly Gradients[R][],
  outputs: number,
): Float32Array[] {
  const total = ranges.reduce((sum, { start, end }) => sum + end - start, 0)
  const flat = Array.from({ length: outputs }, () => new Float32Array(total))
  let at = 0
  for (const [k, gradient] of given.entries()) {
    const index = plan.sequences[k]!
    const { start, end, kept } = ranges[k]!
    const count = keptCount(ranges[k]!)
    const wide = gradient as Partial<Record<'logprobs' | 'entropies' | 'values', Float32Array>> & { score?: number }
    const arrays =
      role === 'language' ? [wide.logprobs, wide.entropies] : [wide.values ?? Float32Array.of(wide.score ?? Number.NaN)]
    if (wide.entropies && outputs < 2)
      throw new RangeError('a gradient of entropies needs forwardBackward(..., { entropy: true })')
    for (const [j, array] of arrays.entries()) {
      if (!array) continue
      if (array.length !== count)
        throw new RangeError(`the gradient of sequence ${index} has ${array.length} entries, its output ${count}`)
      if (array.some(value => !Number.isFinite(value))) throw new NonFiniteError('the gradient', index)
      if (kept) for (const [t, offset] of kept.entries()) flat[j]![at + offset] = array[t]!
      else flat[j]!.set(array, at)
    }
    at += end - start
  }
  return flat
}
