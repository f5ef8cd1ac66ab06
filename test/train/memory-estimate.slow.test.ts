import { describe, expect, test } from 'vitest'
import { type Gradients, LocalModel, newConfig, type Role, sizes } from '../../src/model/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { cacheBytes, estimateModel, type PlannedModel } from '../../src/train/checks/memory-estimate.js'

const shape = { hidden: 128, intermediate: 352, heads: 4, kvHeads: 2, headDim: 32, context: 512, tied: true } as const
const adapter = { rank: 8, alpha: 16, dropout: 0, targets: ['q_proj', 'v_proj'] as const, seed: 0 }

interface Case {
  readonly family: 'qwen2' | 'qwen3' | 'llama'
  readonly layers: number
  readonly role: Role
  readonly tokens: number
  readonly longest: number
  readonly trained?: PlannedModel['trained']
  readonly gradientCheckpointing?: boolean
}

const cases: readonly Case[] = [
  { family: 'qwen2', layers: 4, role: 'language', tokens: 1024, longest: 64 },
  { family: 'qwen2', layers: 4, role: 'language', tokens: 1024, longest: 256 },
  { family: 'qwen3', layers: 8, role: 'language', tokens: 512, longest: 64 },
  { family: 'llama', layers: 8, role: 'reward', tokens: 1024, longest: 128 },
  { family: 'llama', layers: 8, role: 'language', tokens: 1024, longest: 128, gradientCheckpointing: true },
  { family: 'qwen2', layers: 4, role: 'language', tokens: 1024, longest: 128, trained: 'adapter' },
  { family: 'qwen2', layers: 4, role: 'value', tokens: 1024, longest: 128, trained: 'adapter' },
  { family: 'llama', layers: 4, role: 'reward', tokens: 1024, longest: 128, trained: 'head' },
  { family: 'qwen2', layers: 4, role: 'language', tokens: 1024, longest: 128, trained: 'nothing' },
]

/** What a model really takes in all and at its peak, the second time that gradients add up. */
async function measure(one: Case) {
  const { family, layers, role, tokens, longest, trained = 'weights', gradientCheckpointing = false } = one
  const config = newConfig(family, { ...shape, layers, vocabSize: 2048 })
  const start = memoryUse().bytes
  const model = await LocalModel.create<Role>(config, {
    role,
    seed: 0,
    tokenBudget: tokens,
    gradientCheckpointing,
    freezeBackbone: trained === 'head',
    ...(trained === 'adapter' ? { adapter } : {}),
  })
  const sequences = Array.from({ length: tokens / longest }, (_, i) =>
    Int32Array.from({ length: longest }, (_, t) => (i * 31 + t * 7) % 2048),
  )
  const held = (): number => memoryUse().bytes - start
  const weights = held()
  const gradient = (output: object): Gradients[Role] => {
    const [name, values] = Object.entries(output)[0] as [string, number | ArrayLike<number>]
    return { [name]: typeof values === 'number' ? 0.1 : new Float32Array(values.length).fill(0.1) } as Gradients[Role]
  }
  const pass = (): Promise<unknown> =>
    trained === 'nothing' ? model.score(sequences) : model.forwardBackward(sequences, outputs => outputs.map(gradient))
  try {
    await pass()
    const gradients = held() - weights
    if (trained !== 'nothing') await model.step({ lr: 1e-3 })
    const moments = held() - weights
    await pass()
    memoryUse('cpu', { resetPeak: true })
    await pass()
    return { weights, gradients, moments, peak: memoryUse().peakBytes - start }
  } finally {
    model.dispose()
  }
}

describe('the estimate against what a model of 4 to 7 MB really takes on the CPU', () => {
  test.each(cases)('%j', async one => {
    const { family, layers, role, tokens, longest, trained = 'weights', gradientCheckpointing = false } = one
    const real = await measure(one)
    const config = newConfig(family, { ...shape, layers, vocabSize: 2048 }).decoder
    const estimate = estimateModel({
      name: 'model',
      config,
      head: role === 'language' ? 'language' : 'score',
      device: 'cpu',
      dtype: 'float32',
      trained,
      ...(trained === 'adapter' ? { adapter: { rank: adapter.rank, targets: [...adapter.targets] } } : {}),
      gradientCheckpointing,
      tokens,
      longest,
    })
    // Tables of rotations and scratch of a few hundred kilobytes are not counted.
    const near = (found: number, expected: number): void => expect(Math.abs(found - expected)).toBeLessThan(3e5)
    near(real.weights, estimate.weights)
    near(real.gradients, estimate.gradients)
    near(real.moments, estimate.moments)
    const activations = real.peak - estimate.weights - estimate.gradients - estimate.moments
    const peak = estimate.total / real.peak
    expect(peak).toBeGreaterThan(0.85)
    expect(peak).toBeLessThan(1.15)
    expect(estimate.activations / activations).toBeGreaterThan(0.75)
    expect(estimate.activations / activations).toBeLessThan(1.25)
  })
})

test('16-bit weights are trained through float32 copies', () => {
  const config = newConfig('qwen2', { ...sizes['0.5b'], vocabSize: 151_936 }).decoder
  const parameters = 494_032_768
  const model = {
    name: 'policy',
    config,
    head: 'language',
    device: 'cuda',
    dtype: 'bfloat16',
    trained: 'weights',
  } as const
  const estimate = estimateModel({ ...model, gradientCheckpointing: false, tokens: 16_384, longest: 512 })
  expect(estimate).toMatchObject({
    weights: 2 * parameters,
    gradients: 2 * parameters,
    moments: 8 * parameters,
    copies: 4 * parameters,
  })
  // Divided over four ranks, each has its part of the weights beside them.
  const sharded = estimateModel({ ...model, gradientCheckpointing: false, tokens: 16_384, longest: 512, shards: 4 })
  expect(sharded).toMatchObject({ weights: 2 * parameters, moments: 2 * parameters, copies: 1.5 * parameters })
  // Measured on an H200: 23 GiB.
  expect(estimate.total / 2 ** 30 / 23).toBeGreaterThan(0.85)
  expect(estimate.total / 2 ** 30 / 23).toBeLessThan(1.15)
})

/** GB that an H200 had at its peak: a model of 360 million parameters, two batches of a step (docs/out-of-memory.md). */
const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const
test.each<[number, string, Partial<PlannedModel>]>([
  [22.1, 'as it is', {}],
  [41.0, 'float32', { dtype: 'float32' }],
  [9.9, 'a smaller token budget', { tokens: 4096, sequences: 8 }],
  [8.3, 'gradient checkpointing', { gradientCheckpointing: true }],
  [17.4, 'LoRA', { trained: 'adapter', adapter: { rank: 16, targets: [...targets] } }],
])('a peak of %d GB on a GPU, %s', (measured, _, changed) => {
  const config = newConfig('qwen2', { ...sizes['0.5b'], vocabSize: 1056 }).decoder
  const model = {
    name: 'policy',
    config,
    head: 'language',
    device: 'cuda',
    dtype: 'bfloat16',
    trained: 'weights',
  } as const
  const size = { gradientCheckpointing: false, tokens: 16_384, longest: 512, sequences: 32, batches: 2 }
  const { total } = estimateModel({ ...model, ...size, ...changed })
  expect(total / 1e9 / measured).toBeGreaterThan(0.94)
  expect(total / 1e9 / measured).toBeLessThan(1.06)
})

test('keys and values', () => {
  const config = newConfig('qwen2', { ...sizes['2m'], vocabSize: 4096 }).decoder
  expect(cacheBytes(config, { tokens: 10, dtype: 'float32' })).toBe(10 * 6 * 2 * 2 * 32 * 4)
})
