/** The next token of each row of logits as CUDA kernels (sample.cu). The CPU's own is `whetstone::sample`. */
import { memoized } from '../../memoized.js'
import type { NumberLike } from '../call.js'
import { Kernel, type KernelParameter } from '../kernel.js'
import type { Tensor } from '../tensor.js'
import type { HalfDType } from './paged-attention.js'

/** int32, one entry for each row, unless said otherwise. */
export interface SampleRows {
  count: NumberLike
  /** What the random number is drawn for; -1: the row is not there. */
  positions: Tensor
  /** float32 `[rows, 4]`: temperature, topK, topP, minP. */
  settings: Tensor
  /** `[rows, 2]`: the stream's key. */
  keys: Tensor
  /** The token whose log-probability is wanted; -1 draws one. */
  forced: Tensor
  /** `[rows + 1]`, and the ids they point into: tokens that cannot be drawn. */
  bannedOffsets: Tensor
  banned: Tensor
}

/** Steps that follow one another on the device: each makes the input of the next. int32, one entry for each row. */
export interface SampleSteps {
  ids: Tensor
  budgets: Tensor
  left: Tensor
}

const WARPS = 8
const FILTER_THREADS = 1024
/** Logits of a thread, where these kernels sum them: a warp has a chunk of 1,024. */
const LANE = 32

/** Of each chunk of a row's logits, float32 `[rows, chunks, 4]` (sums.cuh), where a thread has `lane` of them. */
export interface LogitSums {
  values: Tensor
  lane: number
}

export function sampleKernel(dtype: HalfDType, vocabSize: number) {
  const elements: KernelParameter = `tensor:${dtype}`
  const [wide, ints]: KernelParameter[] = ['tensor:float32', 'tensor:int32']
  const kernel = (entry: string, parameters: KernelParameter[], lane = LANE) =>
    new Kernel({
      file: new URL('./sample.cu', import.meta.url),
      entry,
      parameters,
      define: { T: dtype, VOCABULARY: vocabSize, LANE: lane },
    })
  const least = kernel('sample_least', [elements, ints!, wide!, ints!, ints!, wide!])
  const sums = kernel('sample_sums', [elements, ints!, wide!, ints!, ints!, wide!, wide!])
  const pick = memoized((lane: number) =>
    kernel(
      'sample_pick',
      [
        ...[elements, ints!, wide!, ints!, ints!, wide!, wide!],
        ...[ints!, ints!, ints!, ints!, ints!, ints!, 'int32' as const],
      ],
      lane,
    ),
  )
  const chunks = Math.ceil(vocabSize / (32 * LANE))
  /**
   * Writes `results`, int32 `[steps, 3, rows]`: ids, and the bits of raw and processed log-probabilities. `known`: the sums,
   * where whoever made the logits has them; not those of rows with filters.
   */
  return (
    logits: Tensor,
    rows: SampleRows,
    results: Tensor,
    options: { filtered: boolean; steps: SampleSteps | undefined; known?: LogitSums },
  ): void => {
    const { count, positions, settings, keys, forced, bannedOffsets, banned } = rows
    const { filtered, steps, known } = options
    const leasts = filtered ? logits.newEmpty([count], { dtype: 'float32' }) : null
    const found = known?.values ?? logits.newEmpty([count, chunks, 4], { dtype: 'float32' })
    const block = [WARPS * 32] as const
    if (leasts)
      least.launch(
        { grid: [count], block: [FILTER_THREADS], overlap: true },
        ...[logits, positions, settings, bannedOffsets, banned, leasts],
      )
    if (!known)
      sums.launch(
        { grid: [Math.ceil(chunks / WARPS), count], block, overlap: true },
        ...[logits, positions, settings, bannedOffsets, banned, leasts, found],
      )
    pick(known?.lane ?? LANE).launch(
      { grid: [count], block, overlap: true },
      ...[logits, positions, settings, bannedOffsets, banned, leasts, found, keys, forced],
      ...[steps?.ids ?? null, steps?.budgets ?? null, steps?.left ?? null, results, count],
    )
  }
}
