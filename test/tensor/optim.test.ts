import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AdamW, memoryUse, NonFiniteGradientError, randn, Sgd, scope, Tensor } from '../../src/tensor/index.js'
import { heldMemory } from '../held-memory.js'

interface Trajectory {
  losses: number[]
  norms: number[]
  w: number[][]
  b: number[]
}
// Written by generate.py beside it, with PyTorch's own optimisers.
const golden = JSON.parse(
  readFileSync(new URL('../fixtures/optimizers/trajectories.json', import.meta.url), 'utf8'),
) as Record<'adamw' | 'adamwClipped' | 'sgd' | 'momentum', Trajectory>

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
  optimizer: AdamW | Sgd,
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

  test('SGD, plain and with Nesterov momentum', async () => {
    const p = problem()
    await follow(p, new Sgd([{ parameters: new Map(Object.entries({ w: p.w, b: p.b })), lr: 0.1 }]), golden.sgd)
    const q = problem()
    const options = { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }
    await follow(q, new Sgd([{ parameters: new Map(Object.entries({ w: q.w, b: q.b })), ...options }]), golden.momentum)
  })
})

test('a gradient that is not finite is refused, named, and changes nothing', async () => {
  const { w, b, loss } = problem()
  const optimizer = new AdamW([{ parameters: new Map(Object.entries({ w, b })), lr: 0.05 }])
  loss()
  b.grad = Tensor.from([Number.NaN, 1])
  const before = [w.tolist(), b.tolist()]
  await expect(optimizer.step()).rejects.toThrow(NonFiniteGradientError)
  await expect(optimizer.step()).rejects.toThrow(/not finite in b;/)
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
  for (const end = performance.now() + 200; performance.now() < end; ) {
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
