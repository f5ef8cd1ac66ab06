/**
 * Projections of few rows on Hopper as CUDA kernels (skinny-gemm.cu, skinny-gemm-ends.cu). With few rows most of the time is
 * waiting, so a kernel starts while the previous one still runs, and norms are fused into projections. They have no gradients. The
 * reference of operators is test/kernels/skinny-gemm-reference.ts.
 */

import { type CudaDevice, Kernel, type KernelParameter, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'
import { gatePairs, gatePairsBox, productDefines } from './projection.js'

/**
 * Half of a norm: rows times the norm's weight, and the sums of their squares before that, float32 `[parts, rows]`. The other
 * half is one factor for each row, and goes on after the projection that reads them.
 */
export interface DeferredRmsNorm {
  values: Tensor
  squares: Tensor
  parts: number
  /** Of the rows. */
  width: number
}

/** The parts of a decoder's step between attentions. Weights exist when they are recorded. */
export interface SkinnyGemm {
  /** The rows `ids` of an embedding: the stream between layers, float32, and what its first norm makes of it. */
  begin(ids: Tensor, given: { table: Tensor; norm: Tensor }): { residual: Tensor; normed: DeferredRmsNorm }
  /** `norm(x) @ weight.T + bias` */
  plain(x: DeferredRmsNorm, given: { weight: Tensor; bias: Tensor | null }): Tensor
  /** `silu(gate) * up` of `norm(x) @ weight.T`; the weight's features are the gates, then the ups. */
  gated(x: DeferredRmsNorm, given: { weight: Tensor }): Tensor
  /** Adds `x @ weight.T + bias` to `residual`, in place; gives what the next norm makes of that. */
  stream(x: Tensor, given: { weight: Tensor; bias: Tensor | null; residual: Tensor; norm: Tensor }): DeferredRmsNorm
  /** The whole norm. */
  end(x: DeferredRmsNorm): Tensor
}

export type StreamKind = 'plain' | 'gated' | 'stream'
const kinds: Record<StreamKind, number> = { plain: 0, gated: 1, stream: 2 }

/** How a product is divided among blocks of threads, and a block's tile among its warpgroups. */
export interface SkinnyGemmPlan {
  /** Of a tile; of the weight's features. */
  rows: number
  features: number
  /** Whether rows are the height of the tensor cores' matrices, which is 64 for each warpgroup, or features are. */
  upright: boolean
  /** Warpgroups that divide the intermediate dimension. */
  depth: number
  /** Blocks that divide it. */
  splits: number
  /** Tiles on their way at once. */
  stages: number
  /** Whether the kernel behind this one starts when products are done, or as soon as there is room. */
  late: boolean
}

/** Of a block, on Hopper, without what the kernel has of its own. */
const SHARED_BYTES = 225 * 1024
/** Chunks of 64 elements of an intermediate dimension. */
const SHORT = 16

/**
 * `features` are the weight's, `blocks` those that run at once: a card's multiprocessors. Undefined where rows are no longer
 * few, or the product so large that it is bound by the tensor cores: there libtorch's are as fast.
 */
export function planSkinnyGemm(
  kind: StreamKind,
  { rows, features, intermediate, blocks }: { rows: number; features: number; intermediate: number; blocks: number },
): SkinnyGemmPlan | undefined {
  if (rows > 256) return undefined
  const chunks = Math.ceil(intermediate / 64)
  const plan = (tile: Omit<SkinnyGemmPlan, 'stages' | 'late'>, most: number): SkinnyGemmPlan => {
    // Sums that are not finished in registers lie where the tiles were, and those of others beside them.
    const direct = tile.upright && tile.depth * tile.splits === 1 && kind !== 'stream'
    const least = direct ? 1 : Math.ceil((tile.depth * sumBytes(tile)) / stageBytes(tile))
    const room = Math.floor((SHARED_BYTES - (tile.splits > 1 ? sumBytes(tile) : 0)) / stageBytes(tile))
    const each = Math.ceil(chunks / tile.splits)
    const stages = Math.max(least, Math.min(each <= most + 1 ? each : most, room))
    // Loads of the next kernel's weights would slow down a short product.
    return { ...tile, stages, late: kind === 'stream' && chunks <= SHORT && rows <= 128 }
  }
  if (kind === 'gated') {
    if (rows <= 64)
      return plan({ rows: roundUp(rows, 8), features: 64, upright: false, depth: chunks > 1 ? 2 : 1, splits: 1 }, 6)
    // One tile for each block that runs, about as high as wide: a multiprocessor reads the rows and the features of its tile.
    const high = Math.ceil(rows / 128)
    const width = Math.max(64, roundUp(Math.ceil(features / Math.floor(blocks / high)), 16))
    // Wider ones were not tried.
    if (width > 176) return undefined
    const tile = { rows: roundUp(Math.ceil(rows / high), 64), features: width, upright: true, depth: 1, splits: 1 }
    return plan(tile, high > 1 ? 5 : 4)
  }
  // A short intermediate dimension of more rows is better divided within blocks, which have nothing to send each other.
  const squares = Math.ceil(rows / 64) * Math.ceil(features / 64)
  if (kind === 'stream' && rows > 128 && chunks > 1 && chunks <= SHORT && squares <= blocks)
    return plan({ rows: 64, features: 64, upright: false, depth: 2, splits: 1 }, 8)
  const tile = rows > 128 ? roundUp(Math.ceil(rows / 2), 8) : roundUp(rows, 8)
  const tiles = Math.ceil(rows / tile) * Math.ceil(features / 64)
  // Shorter parts cost more to sum than they save; where there is a norm, its factors come later than the products.
  const shortest = kind === 'plain' ? 7 : 3.5
  const splits = [8, 4, 2].find(count => tiles * count <= blocks && chunks / count >= shortest) ?? 1
  return plan({ rows: tile, features: 64, upright: false, depth: 1, splits }, 6)
}

const roundUp = (value: number, step: number): number => Math.ceil(value / step) * step
const stageBytes = ({ rows, features }: Pick<SkinnyGemmPlan, 'rows' | 'features'>): number => (features + rows) * 128
const sumBytes = ({ rows, features }: Pick<SkinnyGemmPlan, 'rows' | 'features'>): number => rows * (features + 4) * 4

/** Of a block: tiles, which start at multiples of 1,024 bytes, and what others send it. */
export function streamSharedBytes(plan: SkinnyGemmPlan): number {
  return plan.stages * stageBytes(plan) + (plan.splits > 1 ? sumBytes(plan) : 0) + 1024
}

/** How many tiles of rows are in a cluster: all of them, or one if a cluster of that size might have to wait for room. */
export function clusterHeight(given: { splits: number; parts: number; high: number; blocks: number }): number {
  const { splits, parts, high, blocks } = given
  const size = splits * high
  // A cluster lies within one of the card's groups of 16 or 18 multiprocessors, and is of 8 at most.
  return size <= 4 || (size <= 8 && parts * size <= (blocks * 7) / 8) ? high : 1
}

interface StreamShape {
  hidden: number
  intermediate: number
  heads: number
  kvHeads: number
  headDim: number
}

/**
 * Whether the kernels support a step of this many rows of a decoder of this shape. Their products are instructions of Hopper,
 * which later chips do not have, and they read and write vectors of eight elements.
 */
export function skinnyGemmFits(
  rows: number,
  { hidden, intermediate, heads, kvHeads, headDim }: StreamShape,
  dtype: string,
  { capability, multiprocessors }: Pick<CudaDevice, 'capability' | 'multiprocessors'>,
): boolean {
  const [queries, qkv] = [heads * headDim, (heads + 2 * kvHeads) * headDim]
  const fits = (kind: StreamKind, features: number, depth: number): boolean =>
    planSkinnyGemm(kind, { rows, features, intermediate: depth, blocks: multiprocessors }) !== undefined
  return (
    dtype === 'bfloat16' &&
    Math.floor(Number(capability)) === 9 &&
    [hidden, intermediate, queries, qkv].every(width => width % 8 === 0) &&
    // A thread adds up a row's squares, one of every 64 elements: wider ones were not tried.
    hidden <= 4096 &&
    fits('plain', qkv, hidden) &&
    fits('stream', hidden, queries) &&
    fits('gated', 2 * intermediate, hidden) &&
    fits('stream', hidden, intermediate)
  )
}

const elements: KernelParameter = 'tensor:bfloat16'
const wide: KernelParameter = 'tensor:float32'

/** For steps of any number of rows. Steps whose products are divided in the same way share their kernels. */
export function skinnyGemmKernels(eps: number, multiprocessors: number): (rows: number) => SkinnyGemm {
  const beginKernel = memoized((hidden: number) =>
    endsKernel('stream_begin', hidden, 0, ['tensor:int32', elements, elements, wide, elements, wide]),
  )
  const endKernel = memoized(({ width, parts }: { width: number; parts: number }) =>
    endsKernel('stream_end', width, parts, [elements, wide, 'float32', elements]),
  )
  const productKernel = memoized(linearKernel)
  const rowBlock = (hidden: number) => [roundUp(hidden / 8, 32)] as const

  const begin = (rows: number, ids: Tensor, { table, norm }: Parameters<SkinnyGemm['begin']>[1]) => {
    const hidden = table.shape[1]!
    const wide = (size: readonly number[]): Tensor => table.newEmpty(size, { dtype: 'float32' })
    const [residual, values, squares] = [wide([rows, hidden]), table.newEmpty([rows, hidden]), wide([1, rows])]
    const shape = { grid: [rows], block: rowBlock(hidden), overlap: true } as const
    beginKernel(hidden).launch(shape, ids, table, norm, residual, values, squares)
    return { residual, normed: { values, squares, parts: 1, width: hidden } }
  }

  const end = (rows: number, { values, squares, parts, width }: DeferredRmsNorm): Tensor => {
    const out = values.emptyLike()
    const shape = { grid: [rows], block: rowBlock(width), overlap: true } as const
    endKernel({ width, parts }).launch(shape, values, squares, eps, out)
    return out
  }

  const product = (
    kind: StreamKind,
    rows: number,
    x: { values: Tensor; squares: Tensor | null; parts: number },
    given: { weight: Tensor; bias?: Tensor | null; residual?: Tensor; norm?: Tensor },
  ): { values: Tensor; squares: Tensor | null; parts: number; width: number } => {
    const { weight, bias = null, residual = null, norm = null } = given
    const [features, intermediate] = weight.shape as [number, number]
    const plan = planSkinnyGemm(kind, { rows, features, intermediate, blocks: multiprocessors })
    if (!plan) throw new RangeError(`a ${kind} product of ${rows} x ${features} is not one for these kernels`)
    const width = kind === 'gated' ? features / 2 : features
    const parts = Math.ceil(features / plan.features)
    const values = weight.newEmpty([rows, width])
    const squares = kind === 'stream' ? weight.newEmpty([parts, rows], { dtype: 'float32' }) : null
    const groups = (plan.upright ? plan.rows : plan.features) / 64
    const high = Math.ceil(rows / plan.rows)
    productKernel({ kind, plan, intermediate, parts: x.parts }).launch(
      {
        grid: [plan.splits, parts, high],
        block: [groups * plan.depth * 128 + 32],
        sharedBytes: streamSharedBytes(plan),
        cluster: [plan.splits, 1, clusterHeight({ splits: plan.splits, parts, high, blocks: multiprocessors })],
        overlap: true,
      },
      ...[kind === 'gated' ? gatePairs(weight, features / 2, intermediate) : weight, x.values, x.squares, eps],
      ...[bias, residual, norm, values, squares, rows, width],
    )
    return { values, squares, parts, width }
  }

  return rows => ({
    begin: (ids, given) => begin(rows, ids, given),
    plain: (x, given) => product('plain', rows, x, given).values,
    gated: (x, given) => product('gated', rows, x, given).values,
    stream: (x, given) => {
      const { squares, ...made } = product('stream', rows, { values: x, squares: null, parts: 0 }, given)
      return { ...made, squares: squares! }
    },
    end: x => end(rows, x),
  })
}

function endsKernel(entry: string, hidden: number, parts: number, parameters: KernelParameter[]): Kernel {
  const file = new URL('./skinny-gemm-ends.cu', import.meta.url)
  return new Kernel({ file, entry, parameters, define: { T: 'bfloat16', HIDDEN: hidden, PARTS: parts } })
}

/** `parts`: of the squares of what is read; 0 where it was not normalised. */
function linearKernel(given: { kind: StreamKind; plan: SkinnyGemmPlan; intermediate: number; parts: number }): Kernel {
  const { kind, intermediate, parts } = given
  const { rows, features, upright, depth, splits, stages, late } = given.plan
  const weights = kind === 'gated' ? gatePairsBox(features) : [features, 64]
  return new Kernel({
    file: new URL('./skinny-gemm.cu', import.meta.url),
    entry: 'stream_linear',
    parameters: [
      { tiles: 'bfloat16', box: weights },
      { tiles: 'bfloat16', box: [rows, 64] },
      ...[wide, 'float32' as const, elements, wide, elements, elements, wide],
      ...['int32' as const, 'int32' as const],
    ],
    define: {
      T: 'bfloat16',
      KIND: kinds[kind],
      ROWS: rows,
      FEATURES: features,
      UPRIGHT: upright ? 1 : 0,
      DEPTH: depth,
      SPLITS: splits,
      STAGES: stages,
      LATE: late ? 1 : 0,
      CHUNKS: Math.ceil(intermediate / 64),
      PARTS: parts,
      WIDTH: intermediate,
      ...productDefines(upright ? features : rows),
    },
  })
}
