import { describe, expect, test } from 'vitest'
import {
  keep,
  memoryUse,
  noGrad,
  rand,
  randn,
  record,
  scope,
  scopeAsync,
  Tensor,
  threads,
  zeros,
} from '../../src/tensor/index.js'

threads(1)
const live = () => memoryUse().liveTensors

describe('scope', () => {
  test('frees what was made in it, except what it returns, at any depth', () => {
    const before = live()
    const kept = scope(() => {
      const [a, b, c] = [zeros([2]), zeros([2]), zeros([2])]
      a.add(b).mul(c)
      const cyclic: unknown[] = [c]
      cyclic.push(cyclic)
      return { list: [a, { deep: [b] }], cyclic, number: 1 }
    })
    expect(live()).toBe(before + 3)
    const tensors = [kept.list[0], (kept.list[1] as { deep: Tensor[] }).deep[0], kept.cyclic[0]] as Tensor[]
    for (const tensor of tensors) {
      expect(tensor.tolist()).toEqual([0, 0])
      tensor.dispose()
    }
    expect(live()).toBe(before)
  })

  test('hands its result to the scope around it', () => {
    const before = live()
    scope(() => {
      const intermediate = scope(() => zeros([1]).add(1))
      expect(live()).toBe(before + 1)
      expect(intermediate.item()).toBe(1)
    })
    expect(live()).toBe(before)
  })

  test('frees everything when its function throws, or returns a promise', () => {
    const before = live()
    expect(() =>
      scope(() => {
        zeros([1])
        throw new Error('mine')
      }),
    ).toThrow('mine')
    expect(() => scope(async () => zeros([1]))).toThrow(/use scopeAsync/)
    expect(live()).toBe(before)
  })

  test('what it freed says so', () => {
    let stray: Tensor | undefined
    scope(() => {
      stray = zeros([1])
    })
    expect(stray!.isDisposed).toBe(true)
    expect(String(stray)).toBe('Tensor(disposed)')
    expect(() => stray!.add(1)).toThrow(/disposed/)
  })

  test('results of item(), tolist() and reads leave nothing behind', () => {
    const tensor = randn([3])
    const before = live()
    tensor.tolist()
    tensor.at(0).dispose()
    scope(() => tensor.at(0).item())
    tensor.toArray()
    expect(live()).toBe(before)
  })
})

describe('keep and dispose', () => {
  test('keep takes a tensor out of its scope', () => {
    const before = live()
    let kept: Tensor | undefined
    scope(() => {
      kept = keep(zeros([1]))
      keep(kept)
    })
    expect(kept!.item()).toBe(0)
    kept!.dispose()
    expect(live()).toBe(before)
  })

  test('disposing twice, or inside a scope, is fine', () => {
    const before = live()
    scope(() => {
      const a = zeros([1])
      a.dispose()
      a.dispose()
      expect(live()).toBe(before)
    })
    expect(live()).toBe(before)
  })

  test('handles are independent: one disposed leaves the other', () => {
    const a = Tensor.from([1])
    const b = a.alias()
    a.dispose()
    expect(b.item()).toBe(1)
    b.dispose()
  })

  test('Symbol.dispose', () => {
    const before = live()
    const tensor = zeros([1])
    tensor[Symbol.dispose]()
    expect(live()).toBe(before)
  })
})

describe('scopeAsync', () => {
  test('frees what is owned, across awaits, except the result', async () => {
    const program = record(['tensor'], x => [x.add(1), x.add(2)] as const)
    const x = zeros([1])
    const before = live()
    const result = await scopeAsync(async own => {
      const [a, b] = own(await program.run(x))
      own({ list: [a, own(a.add(1))] })
      return b
    })
    expect(result.item()).toBe(2)
    expect(live()).toBe(before + 1)
    result.dispose()
    await expect(
      scopeAsync(async own => {
        own(await program.run(x))
        throw new Error('mine')
      }),
    ).rejects.toThrow('mine')
    expect(live()).toBe(before)
  })
})

describe('counters', () => {
  test('bytes and tensors, now and at most', () => {
    memoryUse('cpu', { resetPeak: true })
    const before = memoryUse()
    scope(() => {
      zeros([1 << 18])
      zeros([1 << 18])
      expect(memoryUse().bytes - before.bytes).toBe(2 << 20)
    })
    const after = memoryUse()
    expect(after.bytes).toBe(before.bytes)
    expect(after.peakBytes - before.bytes).toBe(2 << 20)
    expect(after.peakTensors - before.liveTensors).toBe(2)
    expect(memoryUse('cpu', { resetPeak: true }).peakBytes).toBe(memoryUse().bytes)
  })

  test('an unknown or absent device is an error', () => {
    expect(() => memoryUse('gpu' as never)).toThrow(/unknown device/)
  })
})

test('two thousand training steps: tensors and bytes exact, resident memory flat', () => {
  const parameters = [randn([16, 32]), zeros([32]), randn([32, 4]), zeros([4])].map(parameter => {
    parameter.requiresGrad = true
    return parameter
  })
  const [w1, b1, w2, b2] = parameters as [Tensor, Tensor, Tensor, Tensor]
  const [x, y] = [rand([64, 16]), rand([64, 4])]
  const step = () =>
    scope(() => {
      const loss = x.matmul(w1).add(b1).silu().matmul(w2).add(b2).sub(y).square().mean()
      loss.backward()
      noGrad(() => {
        for (const parameter of parameters) {
          parameter.sub_(parameter.grad!, { alpha: 0.01 })
          parameter.grad = undefined
        }
      })
      return loss.item()
    })
  const marks: { live: number; bytes: number; resident: number; loss: number }[] = []
  for (let i = 1; i <= 2000; i++) {
    const loss = step()
    if (i === 1 || i === 500 || i === 2000) {
      const { liveTensors, bytes } = memoryUse()
      marks.push({ live: liveTensors, bytes, resident: process.memoryUsage.rss(), loss })
    }
  }
  const [first, middle, last] = marks as [(typeof marks)[0], (typeof marks)[0], (typeof marks)[0]]
  expect(last.live).toBe(first.live)
  expect(last.bytes).toBe(first.bytes)
  expect(last.loss).toBeLessThan(first.loss)
  expect(last.resident - middle.resident).toBeLessThan(24 << 20)
})
