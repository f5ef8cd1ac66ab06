/** The next token of each row of logits as CUDA kernels (sample.cu). The CPU's own is `whetstone::sample`. */
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
const CHUNK = 1024
const FILTER_THREADS = 1024

export function sampleKernel(dtype: HalfDType, vocabSize: number) {
  const elements: KernelParameter = `tensor:${dtype}`
  const [wide, ints]: KernelParameter[] = ['tensor:float32', 'tensor:int32']
  const kernel = (entry: string, parameters: KernelParameter[]) =>
    new Kernel({
      file: new URL('./sample.cu', import.meta.url),
      entry,
      parameters,
      define: { T: dtype, VOCABULARY: vocabSize },
    })
  const least = kernel('sample_least', [elements, ints!, wide!, ints!, ints!, wide!])
  const sums = kernel('sample_sums', [elements, ints!, wide!, ints!, ints!, wide!, wide!])
  const pick = kernel('sample_pick', [
    ...[elements, ints!, wide!, ints!, ints!, wide!, wide!],
    ...[ints!, ints!, ints!, ints!, ints!, ints!, 'int32' as const],
  ])
  const chunks = Math.ceil(vocabSize / CHUNK)
  /** Writes `results`, int32 `[steps, 3, rows]`: ids, and the bits of raw and processed log-probabilities. */
  return (
    logits: Tensor,
    rows: SampleRows,
    results: Tensor,
    options: { filtered: boolean; steps: SampleSteps | undefined },
  ): void => {
    const { count, positions, settings, keys, forced, bannedOffsets, banned } = rows
    const { filtered, steps } = options
    const leasts = filtered ? logits.newEmpty([count], { dtype: 'float32' }) : null
    const found = logits.newEmpty([count, chunks, 4], { dtype: 'float32' })
    const block = [WARPS * 32] as const
    if (leasts)
      least.launch(
        { grid: [count], block: [FILTER_THREADS], overlap: true },
        ...[logits, positions, settings, bannedOffsets, banned, leasts],
      )
    sums.launch(
      { grid: [Math.ceil(chunks / WARPS), count], block, overlap: true },
      ...[logits, positions, settings, bannedOffsets, banned, leasts, found],
    )
    pick.launch(
      { grid: [count], block, overlap: true },
      ...[logits, positions, settings, bannedOffsets, banned, leasts, found, keys, forced],
      ...[steps?.ids ?? null, steps?.budgets ?? null, steps?.left ?? null, results, count],
    )
  }
}
