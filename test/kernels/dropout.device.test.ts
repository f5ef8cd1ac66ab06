/** Dropout by a counter: the words are Philox's, the same on every device; what is dropped depends on nothing else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import { gradients, randn, record, scope, Tensor } from '../../src/tensor/index.js'
import { device, onCuda } from '../support/device.js'

/** Philox4x32-10 as its paper has it (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"). */
function philox(counter: readonly number[], key: readonly number[]): number[] {
  let [a, b, c, d] = counter.map(BigInt) as [bigint, bigint, bigint, bigint]
  let [k0, k1] = key.map(BigInt) as [bigint, bigint]
  const low = (value: bigint): bigint => value & 0xffffffffn
  for (let round = 0; round < 10; round++) {
    const [first, second] = [a * 0xd2511f53n, c * 0xcd9e8d57n]
    ;[a, b, c, d] = [(second >> 32n) ^ b ^ k0, low(second), (first >> 32n) ^ d ^ k1, low(first)]
    ;[k0, k1] = [low(k0 + 0x9e3779b9n), low(k1 + 0xbb67ae85n)]
  }
  return [a, b, c, d].map(Number)
}

test('the reference gives the words that its authors publish', () => {
  const hex = (words: number[]): string[] => words.map(word => word.toString(16).padStart(8, '0'))
  const full = 0xffffffff
  expect(hex(philox([0, 0, 0, 0], [0, 0]))).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8'])
  expect(hex(philox([full, full, full, full], [full, full]))).toEqual(['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd'])
  const pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344]
  expect(hex(philox(pi, [0xa4093822, 0x299f31d0]))).toEqual(['d16cfe09', '94fdcceb', '5001e420', '24126ea1'])
})

const dtypes = ['float32', 'bfloat16', 'float16', 'float64'] as const

/** [seed, step, sequence, position] of each row. */
const keysOf = (rows: readonly (readonly number[])[]): Tensor =>
  Tensor.from(Int32Array.from(rows.flat()), { device, shape: [rows.length, 4] })

function expected(x: number[][], rows: readonly (readonly number[])[], stream: number, rate: number): number[][] {
  const unsigned = (value: number): number => value >>> 0
  return x.map((row, r) => {
    const [seed, step, sequence, position] = rows[r]!.map(unsigned) as [number, number, number, number]
    return row.map((value, column) => {
      const word = philox([Math.floor(column / 4), position, sequence, stream], [seed, step])[column % 4]!
      return word < Math.round(rate * 2 ** 32) ? 0 : value
    })
  })
}

describe.each(dtypes)('%s', dtype => {
  const { dropout } = fusedOps({ device, dtype })

  test('drops what the reference drops, and scales the rest; so does the gradient', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }))), {
          minLength: 1,
          maxLength: 3,
        }),
        fc.constantFrom(1, 3, 4, 8, 20, 32, 33, 130),
        fc.nat(1000),
        fc.double({ min: 0, max: 0.95, noNaN: true }),
        (rows, columns, stream, rate) =>
          scope(() => {
            const x = Tensor.from(new Float32Array(rows.length * columns).fill(1), { shape: [rows.length, columns] })
            const input = x.to(device, dtype)
            input.requiresGrad = true
            const keys = keysOf(rows)
            const out = dropout(input, keys, { stream, rate })
            const kept = Tensor.from([1 / (1 - rate)], { dtype: 'float64' })
              .cast(dtype === 'float64' ? 'float64' : 'float32')
              .cast(dtype)
              .cast('float64')
              .item()
            const ones = Array.from({ length: rows.length }, () => Array<number>(columns).fill(kept))
            const wanted = expected(ones, rows, stream, rate)
            expect(out.to('cpu', 'float64').tolist()).toEqual(wanted)
            const [gradient] = gradients([out.sum()], [input]) as [Tensor]
            expect(gradient.to('cpu', 'float64').tolist()).toEqual(wanted)
          }),
      ),
      { numRuns: onCuda ? 60 : 25 },
    )
  })

  test('in a program, and of a view that is not contiguous', async () => {
    const rows = [
      [7, 1, 0, 0],
      [7, 1, 0, 1],
    ]
    const keys = keysOf(rows)
    const wide = randn([2, 48]).to(device, dtype)
    const view = wide.narrow(1, 8, 20)
    const program = record(['tensor', 'tensor'], (x, keys) => dropout(x, keys, { stream: 3, rate: 0.5 }))
    const recorded = await program.run(view, keys)
    const eager = dropout(view.contiguous(), keys, { stream: 3, rate: 0.5 })
    expect(recorded.to('cpu', 'float32').tolist()).toEqual(eager.to('cpu', 'float32').tolist())
    program.dispose()
  })
})

test('the fraction dropped is the rate, whatever is varied, and neighbours are independent', () => {
  const { dropout } = fusedOps({ device, dtype: 'float32' })
  const [count, columns, rate] = [512, 256, 0.3]
  const fixed = [5, 9, 2, 4]
  for (const varied of [0, 1, 2, 3]) {
    const rows = Array.from({ length: count }, (_, i) => fixed.map((value, k) => (k === varied ? i : value)))
    const dropped = scope(() => {
      const ones = Tensor.from(new Float32Array(count * columns).fill(1), { device, shape: [count, columns] })
      const out = dropout(ones, keysOf(rows), { stream: 1, rate }).to('cpu')
      return (out.tolist() as number[][]).map(row => row.map(value => (value === 0 ? 1 : 0)))
    })
    const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
    const deviation = Math.sqrt((rate * (1 - rate)) / (count * columns))
    expect(Math.abs(mean(dropped.flat()) - rate)).toBeLessThan(5 * deviation)
    // Neighbours in a row, and in a column, are dropped together as often as chance has it.
    const across = dropped.flatMap(row => row.slice(1).map((value, i) => value * row[i]!))
    const down = dropped.slice(1).flatMap((row, r) => row.map((value, i) => value * dropped[r]![i]!))
    for (const pairs of [across, down]) expect(Math.abs(mean(pairs) - rate * rate)).toBeLessThan(0.005)
  }
})
