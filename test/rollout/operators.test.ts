import { beforeEach, expect, test } from 'vitest'
import {
  callOperator,
  cat,
  type DType,
  linear,
  manualSeed,
  randn,
  rmsNorm,
  scaledDotProductAttention,
  scope,
  Tensor,
  zeros,
} from '../../src/tensor/index.js'

const blockSize = 16
const int = (values: ArrayLike<number>, shape?: number[]) =>
  Tensor.from(Int32Array.from(values), shape ? { shape } : {})
const tolerance = (dtype: DType) => (dtype === 'float32' ? 2e-5 : 3e-2)
/** Relative to numbers above 1, whose last bit is worth more. */
const close = (a: Tensor, b: Tensor, dtype: DType) => {
  const expected = b.cast('float32')
  const error = a.cast('float32').sub(expected).abs().div(expected.abs().add(1))
  expect(error.amax().item()).toBeLessThan(tolerance(dtype))
}

beforeEach(() => manualSeed(5))

const shapes = [
  { heads: 4, kvHeads: 2, headDim: 16 },
  { heads: 8, kvHeads: 2, headDim: 64 },
  { heads: 3, kvHeads: 3, headDim: 6 },
  { heads: 14, kvHeads: 2, headDim: 128 },
]

for (const dtype of ['float32', 'bfloat16'] as const) {
  test.each(shapes)(
    `rotate, store and attend in ${dtype} are what ATen computes: %o`,
    ({ heads, kvHeads, headDim }) => {
      scope(() => {
        const lengths = [1, 5, 16, 17, 48, 70]
        const width = Math.max(...lengths.map(length => Math.ceil(length / blockSize)))
        const total = lengths.reduce((a, b) => a + b, 0)
        const blocks = lengths.reduce((sum, length) => sum + Math.ceil(length / blockSize), 0) + 3
        const [queries, keys] = [heads * headDim, kvHeads * headDim]
        const qkv = randn([total, queries + 2 * keys]).cast(dtype)
        const angles = randn([128, headDim / 2])
        const [cos, sin] = [angles.cos(), angles.sin()]
        // Blocks handed out in an order that is not their own.
        const blockTable = new Int32Array(lengths.length * width)
        const [positions, sequences, slotMapping]: number[][] = [[], [], []]
        let block = blocks - 1
        for (const [s, length] of lengths.entries()) {
          for (let b = 0; b < Math.ceil(length / blockSize); b++) blockTable[s * width + b] = block--
          for (let t = 0; t < length; t++) {
            positions!.push(t)
            sequences!.push(s)
            slotMapping!.push(blockTable[s * width + Math.floor(t / blockSize)]! * blockSize + (t % blockSize))
          }
        }
        // What was there before must not matter.
        const cache = zeros([2, blocks, kvHeads, blockSize * headDim], { dtype }).fill_(Number.NaN)
        const position = int(positions!)
        const turned = callOperator(
          'whetstone::rotate_store',
          qkv,
          cos,
          sin,
          position,
          int(slotMapping!),
          cache,
        ) as Tensor
        const scale = 1 / Math.sqrt(headDim)
        const out = callOperator(
          'whetstone::paged_attention',
          turned,
          cache,
          int(blockTable, [lengths.length, width]),
          int(sequences!),
          position,
          scale,
        ) as Tensor

        const rotate = (x: Tensor, count: number): Tensor => {
          const wide = x.cast('float32').view([-1, count, headDim])
          const [c, s] = [cos, sin].map(a => a.indexSelect(0, position).unsqueeze(1)) as [Tensor, Tensor]
          const [a, b] = [wide.narrow(2, 0, headDim / 2), wide.narrow(2, headDim / 2, headDim / 2)]
          return cat([a.mul(c).sub(b.mul(s)), b.mul(c).add(a.mul(s))], 2).cast(dtype)
        }
        const q = rotate(qkv.narrow(1, 0, queries), heads)
        const k = rotate(qkv.narrow(1, queries, keys), kvHeads)
        const v = qkv.narrow(1, queries + keys, keys).view([-1, kvHeads, headDim])
        close(turned, q.reshape([total, queries]), dtype)
        let row = 0
        for (const length of lengths) {
          const part = (x: Tensor) => x.narrow(0, row, length).transpose(0, 1).unsqueeze(0).cast('float32')
          const expected = scaledDotProductAttention(part(q), part(k), part(v), null, 0, {
            isCausal: true,
            enableGqa: heads !== kvHeads,
          })
          close(out.narrow(0, row, length), expected.squeeze(0).transpose(0, 1).reshape([length, queries]), dtype)
          row += length
        }
      })
    },
  )

  test(`norms and SwiGLU in ${dtype} are what ATen computes`, () => {
    scope(() => {
      for (const [rows, width] of [
        [1, 64],
        [33, 1328],
        [4, 13],
      ] as const) {
        const [x, residual] = [randn([rows, width]).cast(dtype), randn([rows, width]).cast(dtype)]
        const weight = randn([width]).cast(dtype)
        const [normed, sum] = callOperator('whetstone::add_rms_norm', x, residual, weight, 1e-6) as [Tensor, Tensor]
        expect(sum.sub(x.add(residual)).abs().amax().item()).toBe(0)
        close(normed, rmsNorm(sum, [width], weight, 1e-6), dtype)
        close(callOperator('whetstone::rms_norm', x, weight, 1e-6) as Tensor, rmsNorm(x, [width], weight, 1e-6), dtype)
        const gateUp = randn([rows, 2 * width])
          .mul(8)
          .cast(dtype)
        const wide = gateUp.cast('float32')
        const expected = wide
          .narrow(1, 0, width)
          .silu()
          .mul(wide.narrow(1, width, width))
        close(callOperator('whetstone::swiglu', gateUp) as Tensor, expected, dtype)
      }
    })
  })
}

test.each(['float32', 'bfloat16'] as const)('the linear map in %s is ATen’s, and a row’s bits are its own', dtype => {
  scope(() => {
    for (const [rows, depth, width] of [
      [1, 8, 1],
      [7, 64, 50],
      [130, 333, 129],
      [33, 1328, 512],
    ] as const) {
      const [x, weight, bias] = [randn([rows, depth]), randn([width, depth]), randn([width])].map(t => t.cast(dtype))
      const found = callOperator('whetstone::linear', x!, weight!, bias!) as Tensor
      const expected = linear(...([x, weight, bias].map(t => t!.cast('float32')) as [Tensor, Tensor, Tensor]))
      const error = found.cast('float32').sub(expected).abs().div(expected.abs().add(1)).amax().item()
      expect(error).toBeLessThan(dtype === 'float32' ? 1e-4 : 1e-2)
      for (let count = 1; count < Math.min(rows, 14); count++) {
        const part = callOperator('whetstone::linear', x!.narrow(0, rows - count, count).contiguous(), weight!, bias!)
        expect((part as Tensor).equal(found.narrow(0, rows - count, count))).toBe(true)
      }
    }
    expect(() => callOperator('whetstone::linear', randn([2, 3]), randn([4, 5]))).toThrow(/does not fit/)
  })
})

test('rows that fill up a batch are zero and store nothing', () => {
  scope(() => {
    const cache = zeros([2, 2, 1, blockSize * 8])
    const qkv = randn([2, 32])
    const one = zeros([4, 4])
    const turned = callOperator('whetstone::rotate_store', qkv, one, one, int([0, 0]), int([-1, -1]), cache) as Tensor
    expect(cache.abs().amax().item()).toBe(0)
    const out = callOperator(
      'whetstone::paged_attention',
      turned,
      cache,
      int([0], [1, 1]),
      int([-1, -1]),
      int([0, 0]),
      1,
    )
    expect((out as Tensor).abs().amax().item()).toBe(0)
  })
})

test('indices outside the cache are refused, not followed', () => {
  scope(() => {
    const cache = zeros([2, 2, 1, blockSize * 8])
    const qkv = randn([1, 32])
    const blockTable = zeros([4, 4])
    const store = (position: number, slot: number) =>
      callOperator('whetstone::rotate_store', qkv, blockTable, blockTable, int([position]), int([slot]), cache)
    expect(() => store(4, 0)).toThrow(/positions/)
    expect(() => store(0, 32)).toThrow(/slot_mapping/)
    const attend = (block: number, sequence: number, position: number) =>
      callOperator(
        'whetstone::paged_attention',
        randn([1, 16]),
        cache,
        int([block], [1, 1]),
        int([sequence]),
        int([position]),
        1,
      )
    expect(() => attend(2, 0, 0)).toThrow(/block_table/)
    expect(() => attend(0, 1, 0)).toThrow(/sequences/)
    expect(() => attend(0, 0, 16)).toThrow(/positions/)
    expect(() => attend(1, 0, 15)).not.toThrow()
  })
})
