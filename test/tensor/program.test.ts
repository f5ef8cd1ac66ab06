import { monitorEventLoopDelay } from 'node:perf_hooks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  CapturedProgram,
  callOperator,
  cat,
  manualSeed,
  memoryUse,
  noGrad,
  type Program,
  RandomGenerator,
  rand,
  randn,
  record,
  Sym,
  stack,
  Tensor,
  TensorError,
  threads,
  zeros,
} from '../../src/tensor/index.js'

threads(1)

const bits = (tensor: Tensor) => Buffer.from(tensor.contiguous().bytes()).toString('hex')

describe('a program computes what the same calls compute eagerly', () => {
  // Each step takes values by position among those made so far, so that any list of numbers is a graph.
  const unary: ((a: Tensor) => Tensor)[] = [
    a => a.exp().clamp(-10, 10),
    a => a.t(),
    a => a.softmax(-1),
    a => a.sum([0], { keepdim: true }).expand([4, 4]),
    a => a.at([1, 4]).pad([0, 0, 0, 1]),
    a => a.mul(2).sub_(0.5),
    a => a.cumsum(1).tanh(),
    a => a.sort(-1)[0],
    // A list has no length while recording; its items are taken by index.
    a => {
      const [first, second] = a.split(2, 0)
      return cat([second!, first!], 0)
    },
    a => a.reshape([2, 8]).roll([1], [1]).view([4, 4]),
    a => noGrad(() => a.silu()),
    a => stack([a, a], 0).mean([0]),
  ]
  const binary: ((a: Tensor, b: Tensor) => Tensor)[] = [
    (a, b) => a.add(b, { alpha: 0.5 }),
    (a, b) => a.matmul(b),
    (a, b) => a.mul(b),
    (a, b) => a.maximum(b),
    (a, b) => b.maskedFill(a.gt(b), 3),
    (a, b) => a.clone().addcmul_(a, b),
    (a, b) => a.clone().copy_(b).div(2),
  ]
  const step = fc.tuple(fc.nat(unary.length + binary.length - 1), fc.nat(), fc.nat())

  function build(steps: readonly (readonly [number, number, number])[], x: Tensor, y: Tensor): Tensor {
    const values = [x, y]
    for (const [op, i, j] of steps) {
      const a = values[i % values.length]!
      const b = values[j % values.length]!
      values.push(op < unary.length ? unary[op]!(a) : binary[op - unary.length]!(a, b))
    }
    return values.at(-1)!
  }

  test('on random graphs, bit for bit, on either thread', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(), async (steps, seed) => {
        const generator = new RandomGenerator({ seed })
        const [x, y] = [randn([4, 4], { generator }), randn([4, 4], { generator })]
        const eager = build(steps, x, y)
        const program = record(['tensor', 'tensor'], (a, b) => build(steps, a, b))
        expect(bits(await program.run(x, y))).toBe(bits(eager))
        expect(bits(program.call(x, y))).toBe(bits(eager))
        program.dispose()
      }),
      { numRuns: 60 },
    )
  })

  test('random numbers too', async () => {
    const program = record(['tensor'], x => x.bernoulli().add(rand([3])))
    manualSeed(9)
    const eager = Tensor.from([0.5, 0.5, 0.5])
      .bernoulli()
      .add(rand([3]))
      .tolist()
    manualSeed(9)
    expect((await program.run(Tensor.from([0.5, 0.5, 0.5]))).tolist()).toEqual(eager)
  })
})

describe('inputs and outputs', () => {
  test('one tensor, several, none', async () => {
    const x = Tensor.from([1, 2])
    expect((await record(['tensor'], a => a.add(1)).run(x)).tolist()).toEqual([2, 3])
    const [a, b] = await record(['tensor'], t => [t.add(1), t] as const).run(x)
    expect([a.tolist(), b.tolist()]).toEqual([
      [2, 3],
      [1, 2],
    ])
    expect(await record(['tensor'], t => void t.add_(1)).run(x)).toBeUndefined()
    expect(x.tolist()).toEqual([2, 3])
    expect(
      await record([], () => zeros([2]))
        .run()
        .then(t => t.tolist()),
    ).toEqual([0, 0])
  })

  test('sizes and arithmetic on them are values of the program', async () => {
    const program = record(['tensor', 'number'], (x, n) => {
      const rows = x.size(0) as unknown as Sym
      const columns = x.size(-1) as unknown as Sym
      const count = rows.mul(columns)
      return [
        x.reshape([count as never]),
        zeros([count.add(1), rows.sub(1), columns.mul(2), count.div(4), count.mod(4), rows.mod(-1), n]),
        x.at([0, rows.div(2)], [columns.sub(1), undefined]),
        x.mul(n),
      ]
    })
    for (const [rows, columns] of [
      [2, 3],
      [4, 5],
      [3, 7],
    ] as const) {
      const x = randn([rows, columns])
      const count = rows * columns
      const [flat, made, part] = await program.run(x, 2)
      expect(flat!.shape).toEqual([count])
      expect(made!.shape).toEqual([count + 1, rows - 1, columns * 2, Math.floor(count / 4), count % 4, 0, 2])
      expect(part!.shape).toEqual([Math.floor(rows / 2), 1])
    }
  })

  test('arithmetic rounds down, fractions and negative numbers too, and refuses what has no answer', async () => {
    const show = record(['number', 'number'], (a, b) => zeros([1]).add(a.div(b).mul(1000).add(a.mod(b))))
    const cases = [
      [7, 2],
      [-7, 2],
      [7, -2],
      [7.5, 2],
      [-7, -1],
    ] as const
    for (const [a, b] of cases) {
      const quotient = Math.floor(a / b)
      expect((await show.run(a, b)).item()).toBeCloseTo(quotient * 1000 + (a - quotient * b), 3)
    }
    await expect(show.run(1, 0)).rejects.toThrow(/division by zero/)
    const product = record(['number', 'number'], (a, b) => zeros([a.mul(b)]))
    await expect(product.run(2 ** 40, 2 ** 40)).rejects.toThrow(/does not fit into 64 bits/)
  })

  test('a recorded number for a list of a fixed length', async () => {
    const pool = record(['tensor', 'number'], (x, n) => callOperator('avg_pool2d', x, n) as Tensor)
    expect((await pool.run(zeros([1, 1, 4, 4]), 2)).shape).toEqual([1, 1, 2, 2])
    expect(() => record(['number'], n => callOperator('zeros', [1], { dtype: n }) as Tensor)).toThrow(/'dtype' expects/)
    expect(() => record(['number'], n => callOperator('einsum', n, []) as Tensor)).toThrow(/'equation' expects str/)
  })

  test('lists by index; their length is not known', async () => {
    const program = record(['tensor'], x => x.chunk(2)[1]!)
    expect((await program.run(Tensor.from([1, 2, 3, 4]))).tolist()).toEqual([3, 4])
    expect(() => record(['tensor'], x => x.chunk(2).map(part => part.add(1)))).toThrow(/length of a list is not known/)
    const beyond = record(['tensor'], x => x.chunk(2)[5]!)
    await expect(beyond.run(Tensor.from([1, 2, 3, 4]))).rejects.toThrow(/item 5 of a list of 2/)
  })

  test('may be disposed as soon as the run has started', async () => {
    const program = record(['tensor'], x => x.add(1).mul(2))
    const x = Tensor.from(new Float32Array(100_000).fill(1))
    const pending = program.run(x)
    x.dispose()
    program.dispose()
    expect((await pending).at(99_999).item()).toBe(4)
    await expect(program.run(x)).rejects.toThrow(/disposed/)
    expect(() => program.call(x)).toThrow(/disposed/)
  })

  test('are checked', async () => {
    const program = record(['tensor', 'number'], (x, n) => x.mul(n))
    const run = (...given: unknown[]) => (program as Program<readonly 'number'[], Tensor>).run(...(given as number[]))
    await expect(run(1, 2)).rejects.toThrow(/input 0 of the program is a tensor, got number/)
    await expect(run(Tensor.from([1]), 'x')).rejects.toThrow(/input 1 of the program is a number, got string/)
    await expect(run(Tensor.from([1]))).rejects.toThrow(/takes 2 inputs, got 1/)
    const gone = Tensor.from([1])
    gone.dispose()
    await expect(run(gone, 1)).rejects.toThrow(/disposed/)
  })

  test('a recorded value has neither shape nor values', () => {
    record(['tensor'], x => {
      for (const look of [
        () => x.shape,
        () => x.dtype,
        () => x.tolist(),
        () => x.item(),
        () => x.toArray(),
        () => x.bytes(),
      ])
        expect(look).toThrow(/while a program is recorded/)
      expect(() => {
        x.requiresGrad = true
      }).toThrow(/while a program is recorded/)
      return x
    })
  })
})

describe('gradients and captured tensors', () => {
  test('forward and backward in one program, weights seen as they are', async () => {
    const weight = Tensor.from([1, 1], { requiresGrad: true })
    const step = record(['tensor', 'tensor'], (x, target) => {
      weight.grad = undefined
      const loss = x.mul(weight).sub(target).square().mean()
      loss.backward()
      noGrad(() => weight.sub_(weight.grad!.mul(0.1)))
      return loss.detach()
    })
    const [x, target] = [Tensor.from([1, 2]), Tensor.from([3, 3])]
    const losses: number[] = []
    for (let i = 0; i < 20; i++) losses.push((await step.run(x, target)).item())
    expect(losses.every((loss, i) => i === 0 || loss < losses[i - 1]!)).toBe(true)
    noGrad(() => weight.fill_(3))
    expect((await step.run(x, Tensor.from([3, 6]))).item()).toBe(0)
  })

  test('the gradient mode of the caller holds, and a failing program restores it', async () => {
    const x = Tensor.from([1], { requiresGrad: true })
    const program = record(['tensor'], a => a.mul(2))
    expect((await noGrad(() => ({ run: program.run(x) })).run).requiresGrad).toBe(false)
    expect((await program.run(x)).requiresGrad).toBe(true)
    const failing = record(['tensor'], a => noGrad(() => a.matmul(zeros([7]))))
    await expect(failing.run(x)).rejects.toThrow(TensorError)
    expect(() => failing.call(x)).toThrow(TensorError)
    expect((await program.run(x)).requiresGrad).toBe(true)
    expect(program.call(x).requiresGrad).toBe(true)
  })

  test('a captured tensor lives as long as the program', async () => {
    const weight = Tensor.from([5])
    const program = record(['tensor'], x => x.mul(weight))
    weight.dispose()
    expect((await program.run(Tensor.from([2]))).item()).toBe(10)
  })
})

describe('order and freedom', () => {
  test('runs are first come, first served', async () => {
    const log = zeros([1])
    const slow = record(['tensor'], x => void log.mul_(10).add_(1).add_(x.matmul(x).sum().mul(0)))
    const quick = record([], () => void log.mul_(10).add_(2))
    const order: string[] = []
    const big = randn([400, 400])
    await Promise.all([
      slow.run(big).then(() => order.push('a')),
      quick.run().then(() => order.push('b')),
      slow.run(big).then(() => order.push('c')),
      quick.run().then(() => order.push('d')),
    ])
    expect(order.join('')).toBe('abcd')
    expect(log.item()).toBe(1212)
  })

  test('the event loop stays free while a program computes', async () => {
    const program = record(['tensor'], x => {
      let y = x
      for (let i = 0; i < 40; i++) y = y.matmul(x).tanh()
      return y
    })
    const x = randn([512, 512])
    const delay = monitorEventLoopDelay({ resolution: 5 })
    const started = performance.now()
    delay.enable()
    let turns = 0
    const ticking = setInterval(() => turns++, 1)
    while (performance.now() - started < 300) await program.run(x)
    clearInterval(ticking)
    delay.disable()
    expect(turns).toBeGreaterThan(20)
    // A run that held the loop would delay every turn by its 100 ms. Other processes that share the cores delay a few.
    expect(delay.percentile(75) / 1e6).toBeLessThan(50)
  })
})

describe('mistakes', () => {
  test('an error names the operator, its arguments and the line that recorded it', async () => {
    const line = Number(/program\.test\.ts:(\d+)/.exec(new Error().stack!)![1]) + 1
    const program = record(['tensor'], x => x.add(1).matmul(zeros([3, 3])))
    const error = (await program.run(zeros([2, 2])).catch(e => e)) as TensorError
    expect(error).toBeInstanceOf(TensorError)
    expect(error.message).toMatch(/aten::matmul: .*self: Float\[2, 2\] cpu, other: Float\[3, 3\] cpu/s)
    expect(error.recordedAt).toMatch(new RegExp(`/test/tensor/program\\.test\\.ts:${line}:\\d+$`))
    expect(error.message).toContain(error.recordedAt)
    expect(() => program.call(zeros([2, 2]))).toThrow(error.message)
  })

  test('a failing recording leaves nothing open', () => {
    const before = memoryUse().liveTensors
    expect(() =>
      record(['tensor'], x => {
        record(['tensor'], y => y.add('x' as never))
        return x
      }),
    ).toThrow(ArgumentError)
    expect(() =>
      record(['tensor'], () => {
        throw new Error('mine')
      }),
    ).toThrow('mine')
    const one = Tensor.from([1])
    expect(one.add(1).item()).toBe(2)
    expect(memoryUse().liveTensors).toBeGreaterThanOrEqual(before)
  })

  test('values of another recording, or of none, are refused', () => {
    let stray: Tensor | undefined
    record(['tensor'], x => {
      stray = x.add(1)
      return stray
    })
    expect(() => stray!.add(1)).toThrow(/recorded value/)
    expect(() => record(['tensor'], x => x.add(stray!))).toThrow(/recorded elsewhere/)
    expect(() => record(['tensor'], x => record(['tensor'], y => y.add(x)).call(zeros([1])))).toThrow(
      /recorded elsewhere/,
    )
  })

  test('what a recorded function may not return', () => {
    expect(() => record(['tensor'], () => [1] as never)).toThrow(/returns tensors/)
    expect(() => record(['tensor'], (async () => undefined) as never)).toThrow(/returns tensors/)
    const captured = Tensor.from([1])
    expect(() => record(['tensor'], () => captured)).toThrow(/values that it computed/)
  })
})

test('a symbol is a symbol', () => {
  record(['number'], n => {
    expect(n).toBeInstanceOf(Sym)
    return zeros([n])
  })
})

test('a graph is not captured beside one that is gone', async () => {
  const program = record(['tensor'], x => x.relu())
  const gone = new CapturedProgram(0, undefined)
  await expect(program.capture([zeros([1])], { beside: gone })).rejects.toThrow(/beside was disposed/)
})
