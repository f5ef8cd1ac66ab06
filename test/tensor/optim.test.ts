import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AdamW,
  memoryUse,
  NonFiniteGradientError,
  randn,
  type StepOptions,
  scope,
  Tensor,
} from '../../src/tensor/index.js'
import { heldMemory } from '../support/held-memory.js'

interface Trajectory {
  losses: number[]
  norms: number[]
  w: number[][]
  b: number[]
}
// Written by generate.py beside it, with PyTorch's own optimisers.
const golden = JSON.parse(
  readFileSync(new URL('../fixtures/optimizers/trajectories.json', import.meta.url), 'utf8'),
) as Record<'adamw' | 'adamwClipped', Trajectory>

function problem() {
  const w = Tensor.from([[0.5, -0.3], [0.1, 0.8], [-0.6, 0.2]], { requiresGrad: true }) // biome-ignore format: a matrix
  const b = Tensor.from([0.1, -0.2], { requiresGrad: true })
  const x = Tensor.from([[1, 2, -1], [0.5, -1, 2], [3, 0, 1], [-1, 1, 0.5]]) // biome-ignore format: a matrix
  const y = Tensor.from([[1, 0], [0, 1], [1, 1], [-1, 0.5]]) // biome-ignore format: a matrix
  const loss = () =>
    scope(() => {
      const value = x.matmul(w).add(b).tanh().sub(y).square().mean()
      value.backward()
      return value.item()
    })
  return { w, b, loss }
}

async function follow(
  { w, b, loss }: ReturnType<typeof problem>,
  optimizer: AdamW,
  expected: Trajectory,
  clipNorm?: number,
) {
  for (const [i, value] of expected.losses.entries()) {
    optimizer.zeroGrad()
    expect(loss()).toBeCloseTo(value, 5)
    const { norm } = await optimizer.step(clipNorm === undefined ? {} : { clipNorm })
    if (clipNorm !== undefined) expect(norm).toBeCloseTo(expected.norms[i]!, 5)
  }
  for (const [i, row] of (w.tolist() as number[][]).entries()) {
    for (const [j, value] of row.entries()) expect(value).toBeCloseTo(expected.w[i]![j]!, 5)
  }
  for (const [i, value] of (b.tolist() as number[]).entries()) expect(value).toBeCloseTo(expected.b[i]!, 5)
}

describe("trajectories are PyTorch's", () => {
  test('AdamW with two groups', async () => {
    const p = problem()
    const shared = { betas: [0.8, 0.95], eps: 1e-6 } as const
    const optimizer = new AdamW([
      { parameters: new Map([['w', p.w]]), lr: 0.05, weightDecay: 0.1, ...shared },
      { parameters: new Map([['b', p.b]]), lr: 0.02, weightDecay: 0, ...shared },
    ])
    await follow(p, optimizer, golden.adamw)
  })

  test('AdamW, clipped', async () => {
    const p = problem()
    const optimizer = new AdamW([
      { parameters: new Map(Object.entries({ w: p.w, b: p.b })), lr: 0.05, weightDecay: 0.01 },
    ])
    await follow(p, optimizer, golden.adamwClipped, 0.05)
  })

  test('AdamW whose options come with each step', async () => {
    const p = problem()
    const optimizer = new AdamW([
      { parameters: new Map([['w', p.w]]), lr: 1, betas: [0, 0], eps: 1, weightDecay: 3 },
      { parameters: new Map([['b', p.b]]), lr: 1 },
    ])
    const shared = { betas: [0.8, 0.95], eps: 1e-6 } as const
    const groups = [
      { lr: 0.05, weightDecay: 0.1, ...shared },
      { lr: 0.02, weightDecay: 0, ...shared },
    ]
    for (const value of golden.adamw.losses) {
      optimizer.zeroGrad()
      expect(p.loss()).toBeCloseTo(value, 5)
      await optimizer.step({ groups })
    }
    for (const [i, value] of (p.b.tolist() as number[]).entries()) expect(value).toBeCloseTo(golden.adamw.b[i]!, 5)
  })
})

test('an option that is no number AdamW works with is refused before anything changes', async () => {
  const { w, b, loss } = problem()
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b })), lr: 0.05, weightDecay: 0.1 }])
  const bits = () => [...optimizer.state().values(), w, b].map(tensor => tensor.tolist())
  loss()
  await optimizer.step()
  const before = bits()
  const none = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)
  const negative = fc.double({ max: -1e-300, noNaN: true })
  // Finite, but more than float32 holds.
  const vast = fc.double({ min: 3.5e38, noNaN: true, noDefaultInfinity: true })
  const nothing = fc.constantFrom(null, '0.1', {}) as fc.Arbitrary<unknown> as fc.Arbitrary<number>
  const beta = fc.oneof(none, negative, nothing, fc.double({ min: 1, noNaN: true }), fc.constant(1 - 1e-12))
  const wrong: fc.Arbitrary<StepOptions> = fc.oneof(
    fc
      .oneof(none, negative, vast, nothing, fc.constant(undefined as unknown as number))
      .map(lr => ({ groups: [{ lr }] })),
    fc.oneof(none, negative, vast, nothing).map(weightDecay => ({ groups: [{ weightDecay }] })),
    fc.oneof(none, negative, vast, nothing, fc.constantFrom(0, 1e-60)).map(eps => ({ groups: [{ eps }] })),
    beta.map(one => ({ groups: [{ betas: [one, 0.9] as const }] })),
    beta.map(one => ({ groups: [{ betas: [0.9, one] as const }] })),
    fc.constant({ groups: [{ lr: 1e20, weightDecay: 1e20 }] }),
    fc.constant({ groups: [{ betas: [0.9] as unknown as readonly [number, number] }] }),
    // Times the group's rate of 0.05.
    fc.oneof(none, negative, fc.constant(1e41)).map(lrScale => ({ lrScale })),
    fc
      .oneof(fc.constantFrom(Number.NaN, 0, Number.NEGATIVE_INFINITY), negative, nothing)
      .map(clipNorm => ({ clipNorm })),
  )
  await fc.assert(
    fc.asyncProperty(wrong, async options => {
      await expect(optimizer.step(options)).rejects.toThrow(RangeError)
      expect(bits()).toEqual(before)
    }),
    { numRuns: 300 },
  )
  const parameters = new Map(Object.entries({ w, b }))
  expect(() => new AdamW([{ parameters, lr: Number.NaN }])).toThrow(RangeError)
  expect(() => new AdamW([{ parameters, lr: 1, betas: [1, 1] }])).toThrow('betas[0] should be at least 0 and below 1')
  // The gradients are still there, and the next step is as any other.
  await optimizer.step({ groups: [{ lr: 0.01 }], clipNorm: Number.POSITIVE_INFINITY })
  expect(bits()).not.toEqual(before)
})

test('a gradient that is not finite is refused, named, and changes nothing', async () => {
  const { w, b, loss } = problem()
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b })), lr: 0.05 }])
  loss()
  b.grad = Tensor.from([Number.NaN, 1])
  const before = [w.tolist(), b.tolist()]
  await expect(optimizer.step()).rejects.toThrow(NonFiniteGradientError)
  await expect(optimizer.step()).rejects.toThrow(
    /norm of the gradient is not finite in b; this step did not change the weights/,
  )
  expect([w.tolist(), b.tolist()]).toEqual(before)
  expect(optimizer.state().get('w.step')!.item()).toBe(0)
})

test('saved and restored in mid-run, it continues to the same bits', async () => {
  const run = async (interrupt: boolean) => {
    const p = problem()
    const make = () =>
      new AdamW([{ parameters: new Map(Object.entries({ w: p.w, b: p.b })), lr: 0.05, weightDecay: 0.1 }])
    let optimizer = make()
    for (let i = 0; i < 6; i++) {
      if (interrupt && i === 3) {
        const saved = new Map([...optimizer.state()].map(([name, tensor]) => [name, tensor.clone()]))
        optimizer = make()
        optimizer.load(saved)
      }
      p.loss()
      await optimizer.step({ clipNorm: 1, lrScale: 1 / (i + 1) })
      optimizer.zeroGrad()
    }
    return p.w.toArray<'float32'>()
  }
  expect(await run(true)).toEqual(await run(false))
})

test('a state of another model is refused', () => {
  const { w, b } = problem()
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b })), lr: 0.05 }])
  expect(() => optimizer.load(new Map([['v.step', Tensor.from([0])]]))).toThrow(
    /6 missing \(w.step\), 1 unknown \(v.step\)/,
  )
})

test('a 16-bit parameter learns through its float32 copy', async () => {
  const w = Tensor.from([1, 1], { dtype: 'bfloat16', requiresGrad: true })
  const optimizer = new AdamW([{ parameters: new Map([['w', w]]), lr: 1e-4 }])
  // Each step is too small for bfloat16 to show; together they are not.
  for (let i = 0; i < 100; i++) {
    scope(() => w.sum().backward())
    await optimizer.step()
    optimizer.zeroGrad()
  }
  expect(w.dtype).toBe('bfloat16')
  expect(w.cast('float32').at(0).item()).toBeCloseTo(0.99, 2)
  expect(optimizer.state().get('w.master')!.at(0).item()).toBeCloseTo(0.99, 4)
})

test('a loop of small steps lets timers run', async () => {
  const { w, b, loss } = problem()
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b })), lr: 0.01 }])
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  // Seconds of steps, if no timer ran.
  for (let step = 0; ticks <= 10 && step < 20_000; step++) {
    loss()
    await optimizer.step()
    optimizer.zeroGrad()
  }
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(10)
})

test('parameters without a gradient are left alone, and steps leave nothing behind', async () => {
  const { w, b, loss } = problem()
  const idle = randn([3])
  idle.requiresGrad = true
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b, idle })), lr: 0.05, weightDecay: 0.5 }])
  const before = idle.tolist()
  loss()
  await optimizer.step()
  const { liveTensors } = await heldMemory()
  for (let i = 0; i < 20; i++) {
    optimizer.zeroGrad()
    loss()
    await optimizer.step()
  }
  expect(memoryUse().liveTensors).toBe(liveTensors)
  expect(idle.tolist()).toEqual(before)
})
