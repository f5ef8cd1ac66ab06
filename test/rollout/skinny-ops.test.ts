import { expect, test } from 'vitest'
import {
  type Columns,
  composeLayerOps,
  type DecoderParts,
  joinColumns,
  LayerRopeTables,
  normColumns,
  type PlainOps,
  runLayers,
} from '../../src/decoder/index.js'
import { cpuOps } from '../../src/rollout/local/cpu-ops.js'
import { skinnyOps } from '../../src/rollout/local/cuda-ops.js'
import { linear, manualSeed, noGrad, randn, record, scope, Tensor } from '../../src/tensor/index.js'
import { skinnyGemmReference } from '../kernels/skinny-gemm-reference.js'
import { loadModel } from '../support/generation.js'

const blockSize = 16
const ints = (values: readonly number[], shape?: number[]): Tensor =>
  Tensor.from(Int32Array.from(values), shape ? { shape } : {})

/** What attention reads and writes: sequences of some length in blocks of a random cache, each about to get one more token. */
function memory({ config }: DecoderParts) {
  const { layers, kvHeads, headDim } = config
  const positions = [0, 5, 15, 16, 30]
  const slotMapping = positions.map(
    (position, row) => (2 * row + Math.floor(position / blockSize)) * blockSize + (position % 16),
  )
  const blockTable = positions.flatMap((_, row) => [2 * row, 2 * row + 1])
  const tables = new LayerRopeTables(config, 64, 'cpu')
  const filled = randn([2 * layers, 2 * positions.length, kvHeads, blockSize * headDim])
  const [at, where, own] = [ints(positions), ints(slotMapping), ints(positions.map((_, row) => row))]
  const blocks = ints(blockTable, [positions.length, 2])
  return {
    ids: ints([7, 100, 7, 319, 3]),
    tables,
    /** Attention over a copy of the cache. */
    attention: () => {
      const cache = filled.clone()
      const each = Array.from({ length: layers }, (_, i) => cache.narrow(0, 2 * i, 2))
      const attend = (qkv: Columns, layer: number): Tensor => {
        const places = { positions: at, slotMapping: where, cache: each[layer]! }
        const queries = cpuOps.rotateStore(joinColumns(qkv), tables.of(layer), places)
        return cpuOps.pagedAttention(queries, { ...places, blockTable: blocks, sequences: own, scale: headDim ** -0.5 })
      }
      return { cache, attend }
    },
  }
}

/** The model with biases of its own where its family has none. */
function biased(parts: DecoderParts): DecoderParts {
  const weights = new Map(parts.weights)
  for (let i = 0; i < parts.config.layers; i++)
    for (const name of ['self_attn.o_proj', 'mlp.down_proj'])
      weights.set(`model.layers.${i}.${name}.bias`, randn([parts.config.hidden]))
  return { ...parts, weights }
}

test('gates and ups in one are those one after the other, and an adapter still takes part', async () => {
  const model = await loadModel('qwen2')
  scope(() =>
    noGrad(() => {
      const { parts } = model
      const { ids, attention, tables } = memory(parts)
      const { rmsNorm, addRmsNorm, swiglu } = parts.ops
      const step = (of: DecoderParts, more: Partial<PlainOps>): Tensor => {
        const { attend } = attention()
        const ops: PlainOps = {
          ...{ linear, rmsNorm, addRmsNorm, swiglu, attend },
          addLowRank: (out, x, { a, b, scale }) => out.add(linear(linear(x, a), b), { alpha: scale }),
        }
        return runLayers(of, composeLayerOps(of.config, { ...ops, ...more }, of.adapter), ids, 'all')!
      }
      let calls = 0
      const gatedLinear: PlainOps['gatedLinear'] = (x, weight) => {
        calls++
        return swiglu(linear(x, weight))
      }
      const plain = step(parts, {})
      expect(step(parts, { gatedLinear }).equal(plain)).toBe(true)
      expect(calls).toBe(parts.config.layers)

      // What an adapter adds goes between the projection and SwiGLU.
      const { hidden, intermediate } = parts.config
      const low = { a: randn([2, hidden]), b: randn([intermediate, 2]), scale: 1, dropout: 0 }
      const adapted: DecoderParts = {
        ...parts,
        adapter: (_, projection) => (projection === 'up_proj' ? low : undefined),
      }
      const expected = step(adapted, {})
      expect(expected.equal(plain)).toBe(false)
      expect(step(adapted, { gatedLinear }).equal(expected)).toBe(true)
      tables.dispose()
    }),
  )
  model.dispose()
})

for (const name of ['qwen2', 'qwen3', 'llama'])
  test.each(['as it is', 'with biases'])(
    `a step of projections that stream is the step there is: ${name} %s`,
    async how => {
      const model = await loadModel(name)
      manualSeed(4)
      scope(() =>
        noGrad(() => {
          const parts = how === 'as it is' ? model.parts : biased(model.parts)
          const { ids, attention, tables } = memory(parts)
          const before = attention()
          const { rmsNorm, addRmsNorm, swiglu } = parts.ops
          const plain: PlainOps = { linear, rmsNorm, addRmsNorm, swiglu, attend: before.attend }
          const expected = runLayers(parts, composeLayerOps(parts.config, plain), ids, 'all')!

          const after = attention()
          const { normEps } = parts.config
          const norm = (x: Tensor, weight: Tensor): Tensor => rmsNorm(x, weight, normEps)
          const ops = skinnyOps(skinnyGemmReference('float32', normEps), {
            attend: after.attend,
            normColumns: (x, weight, groups) => normColumns(norm, x, weight, groups),
          })
          // Recorded, as engines do: nothing asks for the shape of a tensor that is not there yet.
          const program = record(['tensor'], given => runLayers(parts, ops, given, 'all')!)
          const found = program.call(ids)
          program.dispose()
          const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().amax().item()
          expect(found.shape).toEqual([5, parts.config.hidden])
          expect(far(found, expected)).toBeLessThan(2e-5 * Math.max(1, expected.abs().amax().item()))
          expect(far(after.cache, before.cache)).toBeLessThan(2e-5 * Math.max(1, before.cache.abs().amax().item()))
          tables.dispose()
        }),
      )
      model.dispose()
    },
  )
