/** The next token of each row of logits as CUDA kernels (sample.cu). The CPU's own is `whetstone::sample`. */
import { Kernel, type KernelParameter, type NumberLike, type Tensor } from '../tensor/index.js'
import type { HalfDType } from './paged-attention.js'

/** int32, one entry for each row, unless said otherwise. */
export interface SampleRows {
  count: NumberLike
  /** What the random number is drawn for; -1: a padding row. */
  positions: Tensor
  /** float32 `[rows, 4]`: temperature, topK, topP, minP. */
  settings: Tensor
  /** `[rows, 2]`: the stream's key. */
  keys: Tensor
  /** The token whose log-probability is wanted; -1 draws one. */
  targetIds: Tensor
  /** `[rows + 1]`, and the ids they point into: tokens that cannot be drawn, ascending for each row. */
  forbiddenOffsets: Tensor
  forbidden: Tensor
}

/** Steps that follow one another on the device: each makes the input of the next. int32, one entry for each row. */
interface SampleSteps {
  ids: Tensor
  budgets: Tensor
  left: Tensor
}

export interface SampleOptions {
  /** Whether a row has topK, topP or minP. */
  filtered: boolean
  steps: SampleSteps | undefined
  /** How many of the likeliest tokens are wanted; -1: not even the drawn one's rank. */
  top: number
}

/** Words of a row's result. */
export const samplePlanes = (top: number): number => (top < 0 ? 3 : 4 + 2 * top)

const WARPS = 8
const FILTER_THREADS = 512
/** As sums.cuh and sample.cu have them. */
const CHUNK = 256
const GROUP = 4

/** Room for what is known of each chunk of the rows' logits without them, float32 `[rows, chunks, 4]` (sums.cuh). */
export function logitSums(logits: Tensor, rows: NumberLike, vocabSize: number): Tensor {
  return logits.newEmpty([rows, Math.ceil(vocabSize / CHUNK), 4], { dtype: 'float32' })
}

export function sampleKernel(dtype: HalfDType, vocabSize: number) {
  const elements: KernelParameter = `tensor:${dtype}`
  const [wide, ints]: KernelParameter[] = ['tensor:float32', 'tensor:int32']
  const source = (entry: string) => ({
    file: new URL('./sample.cu', import.meta.url),
    entry,
    define: { T: dtype, VOCABULARY: vocabSize },
  })
  const kernel = (entry: string, ...more: KernelParameter[]) =>
    new Kernel({ ...source(entry), parameters: [elements, ints!, wide!, ints!, ints!, wide!, ...more] })
  const sums = kernel('sample_sums')
  const filter = kernel('sample_filter', wide!)
  const pick = kernel('sample_pick', wide!, ints!, ints!, ints!, ints!, ints!, ints!, ints!, 'int32', 'int32')
  const likeliest = new Kernel({
    ...source('sample_top'),
    parameters: [elements, wide!, ints!, ints!, 'int32', 'int32'],
  })
  const groups = Math.ceil(vocabSize / (CHUNK * GROUP))
  /**
   * Writes `results`, int32 `[steps, samplePlanes(top), rows]`: ids, and the bits of raw and processed log-probabilities; where
   * `top` is 0 or more, ranks, that many of the likeliest tokens, and the bits of their log-probabilities. `known`: the sums, where
   * the kernel that made the logits has them.
   */
  return (logits: Tensor, rows: SampleRows, results: Tensor, options: SampleOptions & { known?: Tensor }): void => {
    const { count, positions, settings, keys, targetIds, forbiddenOffsets, forbidden } = rows
    const { filtered, steps, top, known } = options
    const found = known ?? logitSums(logits, count, vocabSize)
    const shared = [logits, positions, settings, forbiddenOffsets, forbidden, found]
    const block = [WARPS * 32] as const
    if (!known) sums.launch({ grid: [Math.ceil(groups / WARPS), count], block, overlap: true }, ...shared)
    const leasts = filtered ? logits.newEmpty([count], { dtype: 'float32' }) : null
    if (leasts) filter.launch({ grid: [count], block: [FILTER_THREADS], overlap: true }, ...shared, leasts)
    const places = top < 0 ? null : logits.newEmpty([count], { dtype: 'int32' })
    pick.launch(
      { grid: [count], block, overlap: true },
      ...[...shared, leasts, keys, targetIds],
      ...[steps?.ids ?? null, steps?.budgets ?? null, steps?.left ?? null, results, places, count, samplePlanes(top)],
    )
    if (places)
      likeliest.launch({ grid: [count], block, overlap: true }, ...[logits, found, places, results, count, top])
  }
}
