/** What models answer with and are trained by, ragged, and its way to and from a batch's tensors. */
import type { Tensor } from '../tensor/index.js'
import type { BatchPlan } from './batch.js'
import { NonFiniteError } from './errors.js'
import { pooledPosition } from './pooling.js'
import { idsOf, type Sequence } from './sequence.js'

/** What a model answers with: log-probabilities, a value per token, or a score per sequence. */
export const roles = ['language', 'value', 'reward'] as const
export type Role = (typeof roles)[number]

export interface Outputs {
  language: {
    /** One for each of the tokens `from..n`. */
    logprobs: Float32Array
    /** Of the distributions those tokens were drawn from. Where they were asked for. */
    entropy?: Float32Array
  }
  /** The value of the state before each of the tokens `from..n`. */
  value: { values: Float32Array }
  /** At the last token; at the last that is not padding where the checkpoint asks for that. */
  reward: { score: number }
}

/** Gradients of a loss with respect to what a model answered; what is left out is zero. */
export interface Gradients {
  language: { logprobs?: Float32Array; entropy?: Float32Array }
  value: { values: Float32Array }
  reward: { score: number }
}

export interface ScoreOptions {
  /** The first token whose log-probability or value is wanted, for all sequences or each; at least 1, which is the default. */
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

/** The positions whose output is wanted: those before each predicted token, or the one that a reward model is asked at. */
export function wantedPositions(
  role: Role,
  sequences: readonly Sequence[],
  { from, padding }: Pick<ScoreOptions, 'from'> & { padding: number | undefined },
): (i: number) => { start: number; end: number } {
  if (role === 'reward')
    return i => {
      const start = pooledPosition(sequences[i]!, padding)
      return { start, end: start + 1 }
    }
  return i => {
    const first = (typeof from === 'number' ? from : from?.[i]) ?? 1
    const { length } = idsOf(sequences[i]!)
    if (!Number.isInteger(first) || first < 1 || first > length)
      throw new RangeError(`from[${i}] should be between 1 and ${length}, got ${first}`)
    return { start: first - 1, end: length - 1 }
  }
}

/** Outputs as ragged arrays; a number that is not finite names its sequence. */
export async function readOutputs<R extends Role>(
  role: R,
  plan: BatchPlan,
  counts: readonly number[],
  tensors: readonly Tensor[],
): Promise<Outputs[R][]> {
  const arrays = (await Promise.all(tensors.map(tensor => tensor.data<'float32'>()))) as Float32Array[]
  let at = 0
  return plan.sequences.map((index, k) => {
    const slices = arrays.map(array => array.slice(at, at + counts[k]!))
    at += counts[k]!
    for (const slice of slices)
      if (slice.some(value => !Number.isFinite(value))) throw new NonFiniteError('the output', index)
    const [first, second] = slices as [Float32Array, Float32Array?]
    if (role === 'language') return { logprobs: first, ...(second ? { entropy: second } : {}) } as Outputs[R]
    return (role === 'value' ? { values: first } : { score: first[0]! }) as Outputs[R]
  })
}

/** Ragged gradients as one array per output, checked. */
export function flattenGradients<R extends Role>(
  role: R,
  plan: BatchPlan,
  counts: readonly number[],
  given: readonly Gradients[R][],
  outputs: number,
): Float32Array[] {
  const total = counts.reduce((sum, n) => sum + n, 0)
  const flat = Array.from({ length: outputs }, () => new Float32Array(total))
  let at = 0
  for (const [k, gradient] of given.entries()) {
    const index = plan.sequences[k]!
    const wide = gradient as Partial<Record<'logprobs' | 'entropy' | 'values', Float32Array>> & { score?: number }
    const arrays =
      role === 'language' ? [wide.logprobs, wide.entropy] : [wide.values ?? Float32Array.of(wide.score ?? Number.NaN)]
    if (wide.entropy && outputs < 2)
      throw new RangeError('a gradient of the entropy needs forwardBackward(..., { entropy: true })')
    for (const [j, array] of arrays.entries()) {
      if (!array) continue
      if (array.length !== counts[k])
        throw new RangeError(`the gradient of sequence ${index} has ${array.length} entries, its output ${counts[k]}`)
      if (array.some(value => !Number.isFinite(value))) throw new NonFiniteError('the gradient', index)
      flat[j]!.set(array, at)
    }
    at += counts[k]!
  }
  return flat
}
