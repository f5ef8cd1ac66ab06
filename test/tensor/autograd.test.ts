import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cat,
  checkpoint,
  customFunction,
  dropout,
  enableGrad,
  gradients,
  isGradEnabled,
  layerNorm,
  manualSeed,
  memoryUse,
  noGrad,
  RandomGenerator,
  rand,
  randn,
  record,
  rmsNorm,
  scaledDotProductAttention,
  scope,
  Tensor,
  where,
} from '../../src/tensor/index.js'

const float64 = { dtype: 'float64' } as const
const leaf = (shape: readonly number[], generator: RandomGenerator) => randn(shape, { ...float64, generator }).detach()

/** Largest difference between the gradient of sum(f * weights) and central differences, over every input element. */
function worstError(f: (...inputs: Tensor[]) => Tensor, inputs: Tensor[], generator: RandomGenerator): number {
  return scope(() => {
    const leaves = inputs.map(input => {
      const copy = input.clone()
      copy.requiresGrad = true
      return copy
    })
    const output = f(...leaves)
    const weights = leaf(output.shape, generator)
    const found = gradients([output], leaves, { gradients: [weights] })
    const value = () =>
      noGrad(() =>
        scope(() =>
          f(...leaves)
            .mul(weights)
            .sum(),
        ).item(),
      )
    const step = 1e-5
    let worst = 0
    for (const [k, input] of leaves.entries()) {
      const analytic = found[k] ? found[k].toArray<'float64'>() : new Float64Array(input.numel)
      const memory = new Float64Array(input.bytes().buffer)
      for (let i = 0; i < memory.length; i++) {
        const before = memory[i]!
        memory[i] = before + step
        const above = value()
        memory[i] = before - step
        const below = value()
        memory[i] = before
        const numeric = (above - below) / (2 * step)
        worst = Math.max(worst, Math.abs(numeric - analytic[i]!) / (1 + Math.abs(numeric)))
      }
    }
    return worst
  })
}

const size = fc.integer({ min: 1, max: 4 })

describe('gradients agree with finite differences', () => {
  type Case = { inputs: (a: number, b: number, c: number) => number[][]; f: (...inputs: Tensor[]) => Tensor }
  const cases: Record<string, Case> = {
    'matmul and silu': {
      inputs: (a, b, c) => [
        [a, b],
        [b, c],
      ],
      f: (x, w) => x!.matmul(w!).silu(),
    },
    softmax: { inputs: (a, b) => [[a, b]], f: x => x!.softmax(-1) },
    'log-softmax gathered': {
      inputs: (a, b) => [[a, b]],
      f: x => x!.logSoftmax(-1).gather(1, Tensor.from([0n], { shape: [1, 1] }).expand([x!.size(0), 1])),
    },
    logsumexp: { inputs: (a, b) => [[a, b]], f: x => x!.logsumexp([-1]) },
    'layer norm': {
      inputs: (a, b) => [[a, b + 2], [b + 2], [b + 2]],
      f: (x, w, b) => layerNorm(x!, [x!.size(1)], w!, b!),
    },
    'rms norm': { inputs: (a, b) => [[a, b], [b]], f: (x, w) => rmsNorm(x!, [x!.size(1)], w!, 1e-3) },
    'indexing with repeats': { inputs: (a, b) => [[a, b]], f: x => x!.at(Tensor.from([0n, 0n]), 'all') },
    'slices and views': {
      inputs: (a, b, c) => [[a, b, c]],
      f: x =>
        cat([x!.at('all', -1), x!.at('all', 0)], 0)
          .t()
          .square(),
    },
    where: {
      inputs: (a, b) => [
        [a, b],
        [a, b],
      ],
      f: (x, y) => where(x!.detach().gt(0), x!.exp(), y!.mul(x!)),
    },
    cumsum: { inputs: (a, b) => [[a, b]], f: x => x!.cumsum(1).tanh() },
    attention: {
      inputs: (a, b, c) => [
        [1, 2, a, b],
        [1, 2, c, b],
        [1, 2, c, b],
      ],
      f: (q, k, v) => scaledDotProductAttention(q!, k!, v!),
    },
    'causal attention by hand': {
      inputs: (a, b) => [
        [a, b],
        [a, b],
      ],
      f: (q, k) => {
        const scores = q!.matmul(k!.t())
        const mask = scores.detach().onesLike().triu(1).gt(0)
        return scores.maskedFill(mask, -1e9).softmax(-1).matmul(k!)
      },
    },
    'variance and broadcasting': {
      inputs: (a, b) => [[a + 1, b], [b]],
      f: (x, y) => x!.sub(x!.mean([0], { keepdim: true })).div(y!.square().add(1)),
    },
    'an in-place chain': { inputs: (a, b) => [[a, b]], f: x => x!.mul(2).add_(1).exp_().log1p() },
  }
  for (const [name, { inputs, f }] of Object.entries(cases)) {
    test(name, () => {
      fc.assert(
        fc.property(size, size, size, fc.nat(), (a, b, c, seed) => {
          const generator = new RandomGenerator({ seed })
          const made = inputs(a, b, c).map(shape => leaf(shape, generator))
          expect(worstError(f, made, generator)).toBeLessThan(1e-6)
        }),
        { numRuns: 8 },
      )
    })
  }
})

describe('backward', () => {
  test('accumulates, and a gradient can be cleared or set', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    x.square().sum().backward()
    x.square().sum().backward()
    expect(x.grad?.tolist()).toEqual([4, 8])
    x.grad = undefined
    expect(x.grad).toBeUndefined()
    x.grad = Tensor.from([10, 10])
    x.sum().backward()
    expect(x.grad?.tolist()).toEqual([11, 11])
  })

  test('refuses a gradient that is not like the tensor', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    for (const wrong of [Tensor.from([1, 2, 3]), Tensor.from([1n, 2n]), x])
      expect(() => {
        x.grad = wrong
      }).toThrow(/a gradient is another tensor of the same shape, dtype and device/)
  })

  test('starts from the gradient given', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    x.square().backward(Tensor.from([10, 100]))
    expect(x.grad?.tolist()).toEqual([20, 400])
    expect(() => x.square().backward()).toThrow(/scalar/)
    expect(() => x.square().backward(Tensor.from([1, 2, 3]))).toThrow(/shape|size/i)
  })

  test('frees the graph unless asked to keep it', () => {
    const x = Tensor.from([3], { requiresGrad: true })
    const y = x.square().sum()
    y.backward(undefined, { retainGraph: true })
    y.backward()
    expect(x.grad?.tolist()).toEqual([12])
    expect(() => y.backward()).toThrow(/second time/)
  })

  test('an in-place change of a value that is still needed is an error', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    const y = x.exp()
    y.add_(1)
    expect(() => y.sum().backward()).toThrow(/modified by an inplace operation/)
  })

  test('a leaf that requires a gradient is not written in place', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    expect(() => x.add_(1)).toThrow(/leaf/)
    noGrad(() => x.add_(1))
    expect(x.tolist()).toEqual([2, 3])
  })
})

describe('gradients()', () => {
  test('undefined for an input that had no part, and nothing accumulated', () => {
    const x = Tensor.from([2], { requiresGrad: true })
    const unused = Tensor.from([2], { requiresGrad: true })
    const [gx, gu] = gradients([x.square().sum()], [x, unused])
    expect(gx?.tolist()).toEqual([4])
    expect(gu).toBeUndefined()
    expect(x.grad).toBeUndefined()
  })

  test('second derivatives', () => {
    const x = Tensor.from([1, 2, 3], { requiresGrad: true, dtype: 'float64' })
    const [first] = gradients([x.pow(3).sum()], [x], { createGraph: true })
    const [second] = gradients([first!.sum()], [x])
    expect(second?.tolist()).toEqual([6, 12, 18])
  })

  test('refuses what is not a tensor', () => {
    const x = Tensor.from([2], { requiresGrad: true })
    expect(() => gradients([x.sum()], [1 as never])).toThrow(/lists of tensors/)
    record(['tensor'], y => {
      expect(() => gradients([y], [y])).toThrow(/not recorded/)
    })
  })

  test('for thousands of inputs', () => {
    scope(() => {
      const inputs = Array.from({ length: 9_000 }, () => Tensor.from([1], { requiresGrad: true }))
      const found = gradients([cat(inputs).sum()], inputs)
      expect(found.every(gradient => gradient !== undefined)).toBe(true)
    })
  })
})

describe('gradient mode', () => {
  test('nests, and is restored when a function throws', () => {
    expect(isGradEnabled()).toBe(true)
    noGrad(() => {
      expect(isGradEnabled()).toBe(false)
      enableGrad(() => expect(isGradEnabled()).toBe(true))
      expect(() =>
        enableGrad(() => {
          throw new Error('inside')
        }),
      ).toThrow('inside')
      expect(isGradEnabled()).toBe(false)
    })
    expect(isGradEnabled()).toBe(true)
  })

  test('refuses a function that would outlive it', () => {
    expect(() => noGrad(async () => 1)).toThrow(/before a promise settles/)
    expect(isGradEnabled()).toBe(true)
  })

  test('is restored in a program whose recorded function catches an error', async () => {
    const x = Tensor.from([2], { requiresGrad: true })
    const program = record(['tensor'], y => {
      try {
        noGrad(() => {
          throw new Error('caught below')
        })
      } catch {}
      return y.square()
    })
    expect((await program.run(x)).requiresGrad).toBe(true)
  })
})

describe('checkpoint', () => {
  const w = () => Tensor.from([0.5, -1, 2], { requiresGrad: true })
  const x = () => Tensor.from([1, 2, 3], { requiresGrad: true })

  /** Values and gradients of both, drawn from the same random numbers. */
  function compare(body: (x: Tensor, w: Tensor) => Tensor) {
    const [input, weight] = [x(), w()]
    const both = [body, (a: Tensor, b: Tensor) => checkpoint(['tensor'], c => body(c, b))(a)].map(f => {
      manualSeed(11)
      const y = f(input, weight)
      const next = rand([2]).tolist()
      return [y, ...gradients([y.square().sum()], [input, weight])]
        .map(t => t?.tolist())
        .concat(next, rand([2]).tolist())
    })
    expect(both[1]).toEqual(both[0])
  }

  test('has the values and gradients of the plain function, captured weights included', () =>
    compare((a, b) => a.mul(b).sin().exp()))

  test('draws the same random numbers again, and leaves the stream where it was', () =>
    compare((a, b) => dropout(a.mul(b), 0.5, { train: true }).exp()))

  test('rewinds a generator of its own, too', () => {
    const [input, weight] = [x(), w()]
    const run = (wrap: boolean) => {
      const generator = new RandomGenerator({ seed: 4 })
      const body = (a: Tensor) =>
        a
          .mul(weight)
          .mul(rand([3], { generator }))
          .exp()
      const y = wrap ? checkpoint(['tensor'], body)(input) : body(input)
      const found = gradients([y.sum()], [input, weight]).map(g => g?.tolist())
      return [found, rand([1], { generator }).tolist()]
    }
    expect(run(true)).toEqual(run(false))
  })

  test('nested', () => {
    const [input, weight] = [x(), w()]
    const inner = checkpoint(['tensor'], a => a.mul(weight).sin())
    const outer = checkpoint(['tensor'], a => inner(a.square()).exp())
    const plain = gradients([input.square().mul(weight).sin().exp().sum()], [input, weight])
    const found = gradients([outer(input).sum()], [input, weight])
    expect(found.map(g => g?.tolist())).toEqual(plain.map(g => g?.tolist()))
  })

  test('number inputs, several outputs, an integer among them, an input handed through', () => {
    const input = x()
    const part = checkpoint(['tensor', 'number'], (a, n) => [a.mul(n).exp(), a.argmax(), a])
    const [y, index, same] = part(input, 2)
    expect(index!.item()).toBe(2)
    expect(same!.tolist()).toEqual([1, 2, 3])
    const [gradient] = gradients([y!.sum().add(same!.sum())], [input])
    const [plain] = gradients([input.mul(2).exp().sum().add(input.sum())], [input])
    expect(gradient?.tolist()).toEqual(plain?.tolist())
    input.square().sum().backward()
    expect(input.grad?.tolist()).toEqual([2, 4, 6])
  })

  test('inside a program, and with gradients off', async () => {
    const [input, weight] = [x(), w()]
    const part = checkpoint(['tensor'], a => a.mul(weight).exp())
    const program = record(['tensor'], a => {
      const y = part(a)
      y.sum().backward()
      return y
    })
    const y = await program.run(input)
    expect(y.tolist()).toEqual(input.mul(weight).exp().tolist())
    const [gx, gw] = gradients([input.mul(weight).exp().sum()], [input, weight])
    expect(input.grad?.tolist()).toEqual(gx?.tolist())
    expect(weight.grad?.tolist()).toEqual(gw?.tolist())
    expect(noGrad(() => part(input)).requiresGrad).toBe(false)
  })

  test('a weight changed before the gradient arrives is an error', () => {
    const [input, weight] = [x(), w()]
    const y = checkpoint(['tensor'], a => a.mul(weight))(input)
    noGrad(() => weight.add_(1))
    expect(() => y.sum().backward()).toThrow(/modified by an inplace operation/)
  })

  test('has no second derivative, and says so', () => {
    const input = x()
    const y = checkpoint(['tensor'], a => a.pow(3))(input)
    expect(() => gradients([y.sum()], [input], { createGraph: true })).toThrow(/second derivative/)
  })

  test('keeps its inputs instead of its activations', () => {
    const wide = Tensor.from(new Float32Array(1 << 16).fill(0.1), { requiresGrad: true })
    const body = (a: Tensor) => scope(() => a.sin().exp().sin().exp().sin().exp())
    const held = (f: (a: Tensor) => Tensor) =>
      scope(() => {
        const before = memoryUse().bytes
        f(wide)
        return memoryUse().bytes - before
      })
    expect(held(body)).toBeGreaterThanOrEqual(3 * 4 * (1 << 16))
    expect(held(checkpoint(['tensor'], body))).toBeLessThanOrEqual(4 * (1 << 16) + 4096)
  })
})

describe('customFunction', () => {
  const cube = customFunction({
    inputs: ['tensor'],
    forward: a => ({ outputs: a.pow(3), saved: [a] }),
    backward: ({ saved: [a], gradients: [g] }) => [a!.square().mul(3).mul(g!)],
  })

  test('uses the backward given, twice over when asked', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    const [first] = gradients([cube(x).sum()], [x], { createGraph: true })
    expect(first?.tolist()).toEqual([3, 12])
    expect(gradients([first!.sum()], [x])[0]?.tolist()).toEqual([6, 12])
  })

  test('several outputs, one unused; several inputs, one without a gradient; numbers', () => {
    const scaled = customFunction({
      inputs: ['tensor', 'number', 'tensor'],
      forward: (a, n, b) => ({ outputs: [a.mul(n), b.mul(n), a.argmax()], saved: [a] }),
      backward: ({ saved: [a], gradients: [ga, gb], numbers: [n] }) => [ga!.mul(n!).add(gb!).add(a!.mul(0)), null],
    })
    const a = Tensor.from([1, 2], { requiresGrad: true })
    const b = Tensor.from([3, 4], { requiresGrad: true })
    const [y, , index] = scaled(a, 5, b)
    expect(index!.item()).toBe(1)
    const found = gradients([y!.sum()], [a, b])
    expect(found[0]?.tolist()).toEqual([5, 5])
    expect(found[1]).toBeUndefined()
  })

  test('saved outputs do not keep themselves alive', () => {
    const exp = customFunction({
      inputs: ['tensor'],
      forward: a => {
        const y = a.exp()
        return { outputs: y, saved: [y] }
      },
      backward: ({ saved: [y], gradients: [g] }) => [y!.mul(g!)],
    })
    const x = Tensor.from(new Float32Array(1000), { requiresGrad: true })
    exp(x).dispose()
    const before = memoryUse().bytes
    for (let i = 0; i < 20; i++) scope(() => void exp(x))
    expect(memoryUse().bytes).toBe(before)
    scope(() => exp(x).sum().backward())
    expect(x.grad?.at(0).item()).toBe(1)
  })

  test('an input or a captured tensor handed through keeps its own history', () => {
    const weight = Tensor.from([7], { requiresGrad: true })
    const through = customFunction({
      inputs: ['tensor'],
      forward: a => ({ outputs: [a, weight.alias().view([1]), a], saved: [] }),
      backward: ({ gradients: [g, , h] }) => [g!.add(h!)],
    })
    const x = Tensor.from([2], { requiresGrad: true })
    const [y, w, z] = through(x)
    expect(gradients([y!.add(w!).add(z!).sum()], [x])[0]?.tolist()).toEqual([2])
    expect([x.isLeaf, weight.isLeaf, weight.requiresGrad]).toEqual([true, true, true])
  })

  test('inside programs and checkpoints', async () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    const program = record(['tensor'], a => {
      const y = cube(a)
      y.sum().backward()
      return y
    })
    expect((await program.run(x)).tolist()).toEqual([1, 8])
    expect(x.grad?.tolist()).toEqual([3, 12])
    expect(gradients([checkpoint(['tensor'], a => cube(a))(x).sum()], [x])[0]?.tolist()).toEqual([3, 12])
  })

  test('mistakes are errors', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    const short = customFunction({
      inputs: ['tensor'],
      forward: a => ({ outputs: a.mul(2), saved: [] }),
      backward: () => [],
    })
    expect(() => short(x)).toThrow(/a gradient for each of the 1 tensor inputs, got 0/)
    const wrongShape = customFunction({
      inputs: ['tensor'],
      forward: a => ({ outputs: a.mul(2), saved: [] }),
      backward: ({ gradients: [g] }) => [g!.sum().expand([5])],
    })
    expect(() => wrongShape(x).sum().backward()).toThrow(/invalid gradient|shape/i)
    expect(() => cube(3 as never)).toThrow(/input 0 of the function is a tensor, got number/)
    expect(() => (cube as (...given: unknown[]) => Tensor)(x, x)).toThrow(/takes 1 inputs, got 2/)
  })

  test('an error in the backward names its line', () => {
    const x = Tensor.from([1, 2], { requiresGrad: true })
    const broken = customFunction({
      inputs: ['tensor'],
      forward: a => ({ outputs: a.mul(2), saved: [a] }),
      backward: ({ saved: [a] }) => [a!.matmul(Tensor.from([1, 2, 3]))],
    })
    expect(() => broken(x).sum().backward()).toThrow(/aten::matmul.*autograd\.test\.ts:\d+/s)
  })

  test('a chain of thousands is taken apart without running out of stack', () => {
    const twice = customFunction({
      inputs: ['tensor'],
      forward: a => ({ outputs: a.mul(1), saved: [] }),
      backward: ({ gradients: [g] }) => [g!.mul(1)],
    })
    scope(() => {
      const x = Tensor.from([1], { requiresGrad: true })
      let y: Tensor = x
      for (let i = 0; i < 30_000; i++) {
        const next = twice(y)
        if (y !== x) y.dispose()
        y = next
      }
      y.dispose()
    })
  })
})
