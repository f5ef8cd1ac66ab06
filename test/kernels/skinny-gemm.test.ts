import { expect, test } from 'vitest'
import { gatedLinearFits, gatedLinearKernel } from '../../src/kernels/gated-linear.js'
import { headLinearFits, headLinearKernel } from '../../src/kernels/head-linear.js'
import { fusedOps } from '../../src/kernels/index.js'
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch } from '../../src/kernels/persistent-gemm.js'
import {
  clusterHeight,
  type DeferredRmsNorm,
  planSkinnyGemm,
  type SkinnyGemmPlan,
  type StreamKind,
  skinnyGemmFits,
  skinnyGemmKernels,
  streamSharedBytes,
} from '../../src/kernels/skinny-gemm.js'
import { ArgumentError, backend, linear, manualSeed, randn, record, scope, Tensor } from '../../src/tensor/index.js'
import { skinnyGemmReference } from './skinny-gemm-reference.js'

const eps = 1e-6
const allKinds: readonly StreamKind[] = ['plain', 'gated', 'stream']
const far = (a: Tensor, b: Tensor): number => a.cast('float32').sub(b.cast('float32')).abs().amax().item()

interface Product {
  kind: StreamKind
  rows: number
  features: number
  intermediate: number
  blocks: number
}

const wholes = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i)

function* products(rowCounts: readonly number[]): Generator<Product> {
  for (const kind of allKinds)
    for (const features of [16, 80, 144, 896, 1152, 4096, 9728, 16000, 20000, 57344])
      for (const intermediate of [8, 64, 72, 136, 256, 320, 328, 448, 896, 4864, 28672])
        for (const blocks of [132, 114, 78])
          for (const rows of rowCounts) yield { kind, rows, features, intermediate, blocks }
}

/** What of the kernel's own conditions does not hold. */
function broken({ kind, rows, features, intermediate, blocks }: Product, plan: SkinnyGemmPlan): string[] {
  const { upright, depth, splits, stages } = plan
  const [height, columns] = upright ? [plan.rows, plan.features] : [plan.features, plan.rows]
  const chunks = Math.ceil(intermediate / 64)
  const threads = (height / 64) * depth * 128
  const inRegisters = upright && depth * splits === 1 && kind !== 'stream'
  const sums = depth * plan.rows * (plan.features + 4) * 4
  const tiles = Math.ceil(features / plan.features) * Math.ceil(rows / plan.rows)
  const rules = {
    'rows come in eights': plan.rows > 0 && plan.rows <= 256 && plan.rows % 8 === 0,
    'no tile is larger than its rows need': plan.rows < rows + (upright ? 64 : 8),
    'features come in what a block finishes':
      plan.features > 0 && plan.features <= 256 && plan.features % (kind === 'gated' ? 16 : 64) === 0,
    'warpgroups are 64 high': height % 64 === 0,
    'an instruction is wide in eights': columns % 8 === 0,
    'the blocks of a cluster finish as many rows each': plan.rows % splits === 0 && splits <= 8,
    'every block has a chunk': chunks >= splits,
    'every warpgroup has a chunk': Math.floor(chunks / splits) >= depth,
    'a place that is used again has its own warpgroups':
      stages >= Math.ceil(chunks / splits) || (stages % depth === 0 && stages > depth),
    'sums lie where the tiles were': inRegisters || sums <= stages * (plan.features + plan.rows) * 128,
    // Barriers and the rows' factors lie beside what is asked for.
    'shared memory': streamSharedBytes(plan) + 8 * (2 * stages + 1) + 4 * plan.rows <= 227 * 1024,
    threads: threads + 32 <= 1024,
    'a divided product runs at once': splits === 1 || tiles * splits <= blocks,
  }
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [rule]))
}

test('products of any shape are divided so that the kernel can hold them', () => {
  const wrong: string[] = []
  for (const product of products(wholes(1, 256))) {
    const plan = planSkinnyGemm(product.kind, product)
    const each = Math.floor(product.blocks / Math.ceil(product.rows / 128))
    const tooWide = product.kind === 'gated' && product.rows > 64 && product.features > 176 * each
    if (!plan !== tooWide) wrong.push(`${JSON.stringify(product)}: ${plan ? 'too wide' : 'no plan'}`)
    const rules = plan ? broken(product, plan) : []
    if (rules.length) wrong.push(`${JSON.stringify(product)}, ${JSON.stringify(plan)}: ${rules.join(', ')}`)
  }
  expect(wrong.slice(0, 5)).toEqual([])
})

test('blocks that read the same weights are neighbours where a cluster has room', () => {
  const height = (splits: number, parts: number, high: number): number =>
    clusterHeight({ splits, parts, high, blocks: 132 })
  expect(height(1, 61, 2)).toBe(2)
  expect(height(1, 14, 4)).toBe(4)
  expect(height(4, 14, 2)).toBe(2)
  expect(height(4, 16, 2)).toBe(1)
  expect(height(8, 14, 1)).toBe(1)
  expect(height(8, 8, 2)).toBe(1)
  for (const product of products([1, 64, 65, 128, 129, 192, 193, 256])) {
    const plan = planSkinnyGemm(product.kind, product)
    if (!plan) continue
    const [parts, high] = [Math.ceil(product.features / plan.features), Math.ceil(product.rows / plan.rows)]
    const tall = clusterHeight({ splits: plan.splits, parts, high, blocks: product.blocks })
    expect([1, high]).toContain(tall)
    expect(plan.splits * tall).toBeLessThanOrEqual(8)
  }
})

test('more rows are for libtorch, and so are many of a wide gated product', () => {
  for (const product of products([257, 1000])) expect(planSkinnyGemm(product.kind, product)).toBeUndefined()
  const wide = { features: 2 * 28672, intermediate: 8192, blocks: 132 }
  expect(planSkinnyGemm('gated', { ...wide, rows: 64 })).toBeDefined()
  expect(planSkinnyGemm('gated', { ...wide, rows: 65 })).toBeUndefined()
  expect(planSkinnyGemm('plain', { ...wide, rows: 65 })).toBeDefined()
})

test('only bfloat16 on Hopper, in whole vectors, of few rows', () => {
  const shape = { hidden: 896, intermediate: 4864, heads: 14, kvHeads: 2, headDim: 64 }
  const hopper = { capability: '9.0', multiprocessors: 132 }
  const fits = (odd: Partial<typeof shape>, rows = 8): boolean =>
    skinnyGemmFits(rows, { ...shape, ...odd }, 'bfloat16', hopper)
  for (const rows of [1, 64, 65, 256]) expect(fits({}, rows), `${rows} rows`).toBe(true)
  expect(fits({}, 257)).toBe(false)
  expect(fits({ intermediate: 328 })).toBe(true)
  expect(skinnyGemmFits(8, shape, 'float16', hopper)).toBe(false)
  for (const capability of ['7.5', '8.9', '10.0', '12.0'])
    expect(skinnyGemmFits(8, shape, 'bfloat16', { ...hopper, capability }), capability).toBe(false)
  for (const odd of [{ hidden: 900 }, { intermediate: 4860 }, { headDim: 6, heads: 2 }])
    expect(fits(odd), JSON.stringify(odd)).toBe(false)
  expect(fits({ hidden: 4096 })).toBe(true)
  expect(fits({ hidden: 4104 })).toBe(false)
  // One tile for each multiprocessor: how wide that is depends on how many there are.
  expect(fits({ intermediate: 8192 }, 128)).toBe(true)
  expect(fits({ intermediate: 8192 }, 129)).toBe(false)
  expect(skinnyGemmFits(128, { ...shape, intermediate: 8192 }, 'bfloat16', { ...hopper, multiprocessors: 78 })).toBe(
    false,
  )
})

const blank = (...shape: number[]): Tensor => Tensor.empty(shape, { dtype: 'bfloat16' })
const half = (rows: number, width: number, parts: number): DeferredRmsNorm => ({
  values: blank(rows, width),
  squares: Tensor.empty([parts, rows]),
  ...{ parts, width },
})

test('every launch is one the kernels take, eager and recorded', () => {
  // Parameters, tiles and grids are looked at before a device is: this is the first thing that is missing here.
  const absent = backend().cuda.available ? /expects a CUDA tensor/ : /needs a CUDA device/
  const kernels = skinnyGemmKernels(eps, 132)
  for (const [rows, hidden, intermediate] of [
    [4, 64, 176],
    [33, 128, 328],
    [96, 128, 328],
    [200, 896, 4864],
  ] as const)
    scope(() => {
      const ops = kernels(rows)
      const ids = Tensor.from(new Int32Array(rows))
      const begin = { table: blank(50, hidden), norm: blank(hidden) }
      const [x, few, many] = [blank(rows, intermediate), half(rows, hidden, 1), half(rows, hidden, 14)]
      const plain = { weight: blank(320, hidden), bias: blank(320) }
      const gated = { weight: blank(2 * intermediate, hidden) }
      const matrix = { weight: blank(hidden, intermediate), bias: null }
      const stream = { ...matrix, residual: blank(rows, hidden), norm: blank(hidden) }
      const launches = {
        begin: () => ops.begin(ids, begin),
        plain: () => ops.plain(many, plain),
        gated: () => ops.gated(few, gated),
        stream: () => ops.stream(x, stream),
        end: () => ops.end(many),
      }
      for (const [name, launch] of Object.entries(launches)) {
        expect(launch, name).toThrow(absent)
        expect(launch, name).toThrow(ArgumentError)
        const program = record([], () => {
          launch()
        })
        expect(() => program.call(), `${name} in a program`).toThrow(absent)
        program.dispose()
      }
    })
})

test('SwiGLU of a projection: many rows in whole vectors of bfloat16 on Hopper', () => {
  const [shape, hopper] = [
    { hidden: 896, intermediate: 4864 },
    { capability: '9.0', multiprocessors: 132 },
  ]
  const fits = (rows: number, odd: object = {}, dtype = 'bfloat16', device = {}): boolean =>
    gatedLinearFits(rows, { ...shape, ...odd }, dtype, { ...hopper, ...device })
  // 38 tiles across: seven rows of tiles are two for each multiprocessor.
  expect(fits(768)).toBe(false)
  expect(fits(769)).toBe(true)
  expect(fits(769, { intermediate: 4096 })).toBe(false)
  expect(fits(1e5, { hidden: 900 })).toBe(false)
  expect(fits(1e5, { intermediate: 4860 })).toBe(false)
  expect(fits(1e5, {}, 'float16')).toBe(false)
  expect(fits(1e5, {}, 'bfloat16', { capability: '10.0' })).toBe(false)

  const absent = backend().cuda.available ? /expects a CUDA tensor/ : /needs a CUDA device/
  const gated = gatedLinearKernel(132)
  scope(() => {
    const [x, weight] = [blank(300, 896), blank(2 * 4864, 896)]
    expect(() => gated(x, weight)).toThrow(absent)
    const program = record(['tensor'], given => gated(given, weight))
    expect(() => program.call(x)).toThrow(absent)
    program.dispose()
  })
})

test('logits with their sums: rows that fill tiles, whole vectors of bfloat16 on Hopper', () => {
  const [shape, hopper] = [{ hidden: 896, vocabSize: 151936 }, { capability: '9.0' }]
  for (const rows of [208, 256, 336, 1024])
    expect(headLinearFits(rows, shape, 'bfloat16', hopper), `${rows}`).toBe(true)
  for (const rows of [1, 128, 129, 207, 257])
    expect(headLinearFits(rows, shape, 'bfloat16', hopper), `${rows}`).toBe(false)
  expect(headLinearFits(256, shape, 'float16', hopper)).toBe(false)
  expect(headLinearFits(256, shape, 'bfloat16', { capability: '8.9' })).toBe(false)
  expect(headLinearFits(256, { ...shape, vocabSize: 32001 }, 'bfloat16', hopper)).toBe(false)
  expect(headLinearFits(256, { ...shape, hidden: 900 }, 'bfloat16', hopper)).toBe(false)
  const absent = backend().cuda.available ? /expects a CUDA tensor/ : /needs a CUDA device/
  scope(() => {
    const ints = (count: number): Tensor => Tensor.from(new Int32Array(count))
    const rows = { positions: ints(5), forbiddenOffsets: ints(6), forbidden: ints(1), settings: Tensor.empty([5, 4]) }
    const [x, weight] = [blank(5, 64), blank(1000, 64)]
    for (const multiprocessors of [132, 113])
      expect(() => headLinearKernel(multiprocessors)(x, weight, { count: 5, ...rows })).toThrow(absent)
  })
})

test('tiles of many rows, and what they become, fit a block', () => {
  const { STAGES: stages } = persistentGemmDefines(896) as { STAGES: number }
  // Beside what is asked for lie two barriers for each stage.
  for (const width of [PERSISTENT_FEATURES / 2, PERSISTENT_FEATURES])
    expect(persistentGemmLaunch(width).sharedBytes + 8 * 2 * stages, `${width}`).toBeLessThanOrEqual(227 * 1024)
})

test('a product that has no plan is refused', () => {
  scope(() => {
    const kernels = skinnyGemmKernels(eps, 2)
    const gated = { weight: blank(1024, 64) }
    expect(() => kernels(65).gated(half(65, 64, 1), gated)).toThrow(RangeError)
    expect(() => kernels(257).plain(half(257, 64, 1), { ...gated, bias: null })).toThrow(RangeError)
  })
})

test.each(['float64', 'bfloat16'] as const)('the references in %s are norms and projections', dtype => {
  manualSeed(3)
  const allowed = dtype === 'float64' ? 1e-6 : 0.1
  scope(() => {
    const [rows, hidden, intermediate] = [5, 24, 40]
    const make = (...shape: number[]): Tensor => randn(shape).cast(dtype)
    const ops = fusedOps({ device: 'cpu', dtype })
    const reference = skinnyGemmReference(dtype, eps)
    const table = make(9, hidden)
    const [first, second, down, bias] = [make(hidden), make(hidden), make(hidden, intermediate), make(hidden)]
    const [up, projection, offset] = [make(2 * intermediate, hidden), make(16, hidden), make(16)]
    const ids = Tensor.from(Int32Array.of(3, 0, 8, 3, 1))
    const begun = reference.begin(ids, { table, norm: first })
    const residual = table.indexSelect(0, ids)
    expect(begun.residual.equal(residual)).toBe(true)
    expect(begun.normed.squares.shape).toEqual([begun.normed.parts, rows])
    expect(begun.normed.width).toBe(hidden)

    const act = reference.gated(begun.normed, { weight: up })
    const scale = (x: Tensor): number => x.cast('float32').abs().amax().item()
    const exactAct = ops.swiglu(linear(ops.rmsNorm(residual, first, eps), up))
    expect(far(act, exactAct)).toBeLessThan(allowed * scale(exactAct))

    const kept = begun.residual
    const normed = reference.stream(act, { weight: down, bias, residual: kept, norm: second })
    const [exactNormed, exactSum] = ops.addRmsNorm(linear(act, down, bias), residual, second, eps)
    expect(far(kept, exactSum)).toBeLessThan(allowed * scale(exactSum))
    const out = reference.plain(normed, { weight: projection, bias: offset })
    const exactOut = linear(exactNormed, projection, offset)
    expect(far(out, exactOut)).toBeLessThan(allowed * scale(exactOut))
    const ended = reference.end(normed)
    expect(far(ended, exactNormed)).toBeLessThan(allowed * scale(exactNormed))
    for (const found of [act, normed.values, out, ended]) expect(found.dtype).toBe(dtype)
    expect(kept.dtype).toBe(dtype === 'float64' ? 'float64' : 'float32')
  })
})
