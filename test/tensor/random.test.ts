import { describe, expect, test } from 'vitest'
import {
  dropout,
  manualSeed,
  RandomGenerator,
  rand,
  randint,
  randn,
  randperm,
  record,
  Tensor,
  threads,
  zeros,
} from '../../src/tensor/index.js'

const bits = (tensor: Tensor) => Buffer.from(tensor.bytes()).toString('hex')

describe('the same seed gives the same numbers', () => {
  const draws: Record<string, (options: { generator?: RandomGenerator }) => Tensor> = {
    rand: options => rand([1000], options),
    randn: options => randn([1000], options),
    randint: options => randint(0, 1000, [100], options),
    randperm: options => randperm(100, options),
    multinomial: options => rand([10]).fill_(1).multinomial(5, options),
    bernoulli: options => zeros([100]).fill_(0.5).bernoulli(undefined, options),
    uniform_: options => zeros([100]).uniform_(-1, 1, options),
    normal_: options => zeros([100]).normal_(0, 1, options),
    exponential_: options => zeros([100]).exponential_(1, options),
  }
  for (const [name, draw] of Object.entries(draws)) {
    test(name, () => {
      const seeded = (seed: number) => {
        manualSeed(seed)
        return bits(draw({}))
      }
      const own = (seed: number) => bits(draw({ generator: new RandomGenerator({ seed }) }))
      expect(seeded(1)).toBe(seeded(1))
      expect(seeded(1)).not.toBe(seeded(2))
      expect(own(1)).toBe(own(1))
      expect(own(1)).not.toBe(own(2))
    })
  }

  test('dropout, and in a program', async () => {
    const program = record(['tensor'], x => dropout(x, 0.5, { train: true }))
    const ones = zeros([1000]).fill_(1)
    const run = async () => {
      manualSeed(3)
      return bits(await program.run(ones))
    }
    expect(await run()).toBe(await run())
    manualSeed(3)
    expect(bits(dropout(ones, 0.5, { train: true }))).toBe(await run())
  })

  test('however many threads compute', () => {
    const before = threads()
    const draw = (count: number) => {
      threads(count)
      return bits(randn([100_000], { generator: new RandomGenerator({ seed: 8 }) }))
    }
    expect(draw(2)).toBe(draw(1))
    // Sums are only as reproducible as the number of threads that make them.
    const sum = () => bits(randn([300_000], { generator: new RandomGenerator({ seed: 8 }) }).sum())
    expect(sum()).toBe(sum())
    threads(before)
  })
})

describe('a generator of its own', () => {
  test('does not touch the default stream', () => {
    manualSeed(1)
    const undisturbed = bits(rand([4]))
    manualSeed(1)
    rand([100], { generator: new RandomGenerator({ seed: 5 }) })
    expect(bits(rand([4]))).toBe(undisturbed)
  })

  test('continues from a saved state', () => {
    const generator = new RandomGenerator({ seed: 5 })
    rand([7], { generator })
    const state = generator.state()
    const next = bits(randn([9], { generator }))
    generator.setState(state)
    expect(bits(randn([9], { generator }))).toBe(next)
    const other = new RandomGenerator({ seed: 0 })
    other.setState(Tensor.from(state.toArray<'uint8'>()))
    expect(bits(randn([9], { generator: other }))).toBe(next)
  })

  test('refuses a state that is none', () => {
    const generator = new RandomGenerator({ seed: 5 })
    for (const wrong of [zeros([10]), Tensor.from(new Uint8Array(3)), Tensor.from(new Uint8Array(5056).fill(255))])
      expect(() => generator.setState(wrong)).toThrow()
    expect(rand([3], { generator }).shape).toEqual([3])
  })

  test('seeds are 64-bit integers', () => {
    const draw = (seed: number | bigint) => bits(rand([4], { generator: new RandomGenerator({ seed }) }))
    expect(draw(7)).toBe(draw(7n))
    expect(draw(-1)).toBe(draw(2n ** 64n - 1n))
    for (const wrong of [1.5, Number.NaN, 2 ** 60])
      expect(() => new RandomGenerator({ seed: wrong })).toThrow(RangeError)
    expect(() => manualSeed(0.5)).toThrow(RangeError)
  })

  test('says when it was disposed', () => {
    const generator = new RandomGenerator({ seed: 5 })
    generator.dispose()
    generator.dispose()
    expect(() => rand([1], { generator })).toThrow(/disposed/)
    expect(() => generator.state()).toThrow(/disposed/)
  })
})

test('multinomial follows its weights', () => {
  manualSeed(0)
  expect(Tensor.from([0, 0, 1]).multinomial(20, { replacement: true }).tolist()).toEqual(new Array(20).fill(2))
})
