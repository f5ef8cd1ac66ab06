import { describe, expect, test } from 'vitest'
import { arange, record, type Sym, Tensor, zeros } from '../../src/tensor/index.js'

const grid = () => arange(0, 24).view([2, 3, 4])
const nested = (grid().tolist() as number[][][])!

describe('at', () => {
  test('positions, from either end', () => {
    expect(grid().at(1, 2, 3).item()).toBe(23)
    expect(grid().at(-1).tolist()).toEqual(nested[1])
    expect(grid().at('all', -1).tolist()).toEqual(nested.map(rows => rows[2]))
    expect(() => grid().at(2)).toThrow(/out of range/)
  })

  test('ranges, open, negative and beyond the end', () => {
    const row = (...range: [number | undefined, number | undefined]) => arange(0, 5).at(range).tolist()
    expect(row(1, 3)).toEqual([1, 2])
    expect(row(undefined, 2)).toEqual([0, 1])
    expect(row(-2, undefined)).toEqual([3, 4])
    expect(row(0, -1)).toEqual([0, 1, 2, 3])
    expect(row(3, 100)).toEqual([3, 4])
    expect(row(4, 2)).toEqual([])
    expect(grid().at(0, [1, 3], [0, 1]).tolist()).toEqual([[4], [8]])
  })

  test('new dimensions', () => {
    expect(grid().at('new').shape).toEqual([1, 2, 3, 4])
    expect(grid().at('all', 'new', 0).shape).toEqual([2, 1, 4])
    expect(grid().at(0, 'all', 'all', 'new').shape).toEqual([3, 4, 1])
  })

  test('tensors of positions', () => {
    const pick = Tensor.from([2n, 0n])
    expect(grid().at('all', pick).tolist()).toEqual(nested.map(rows => [rows[2], rows[0]]))
    expect(grid().at(0, pick, 1).tolist()).toEqual([9, 1])
    expect(
      grid()
        .at(Tensor.from([0n, 1n]), pick)
        .tolist(),
    ).toEqual([nested[0]![2], nested[1]![0]])
    expect(() => grid().at('all', Tensor.from([3n]))).toThrow(/out of bounds/)
  })

  test('masks, which stand for as many dimensions as they have', () => {
    const rows = Tensor.from([true, false, true])
    expect(grid().at('all', rows).shape).toEqual([2, 2, 4])
    const cells = Tensor.from([
      [true, false, false],
      [false, false, true],
    ])
    expect(grid().at(cells).tolist()).toEqual([nested[0]![0], nested[1]![2]])
    expect(grid().at(cells, 1).tolist()).toEqual([1, 21])
    expect(grid().at(cells, [0, 2]).tolist()).toEqual([
      [0, 1],
      [20, 21],
    ])
  })

  test('a view of the same memory where no tensor picks', () => {
    const base = zeros([2, 2])
    base.at(0).fill_(1)
    base.at().at(1, 1).fill_(5)
    expect(base.tolist()).toEqual([
      [1, 1],
      [0, 5],
    ])
  })
})

describe('set', () => {
  test('numbers and tensors into positions and ranges', () => {
    const base = zeros([3, 2])
    base
      .set([0, 1], 7)
      .set([[1, 3], 0], Tensor.from([8, 9]))
      .set([-1, 'all'], 4)
    expect(base.tolist()).toEqual([
      [0, 7],
      [8, 0],
      [4, 4],
    ])
  })

  test('numbers and tensors through masks and positions', () => {
    const base = zeros([2, 2])
    base.set([Tensor.from([true, false])], 3)
    base.set(['all', Tensor.from([1n])], Tensor.from([[6], [5]]))
    expect(base.tolist()).toEqual([
      [3, 6],
      [0, 5],
    ])
    const whole = Tensor.from([1n, 2n])
    expect([...whole.set([Tensor.from([1n])], 9).toArray<'int64'>()]).toEqual([1n, 9n])
    expect(() => base.set([Tensor.from([0n]), 0], 1)).toThrow(/ranges or index tensors, not both/)
  })
})

describe('while recording', () => {
  test('symbolic ends, positions and masks', async () => {
    const program = record(['tensor', 'tensor', 'number'], (x, mask, n) => {
      const rows = x.size(0) as unknown as Sym
      return [x.at([n, rows.sub(1)]), x.at(rows.sub(1)), x.at(mask), x.at()]
    })
    const mask = Tensor.from([true, false, false, true])
    const found = await program.run(arange(0, 4), mask, 1)
    expect(found.map(tensor => tensor.tolist())).toEqual([[1, 2], 3, [0, 3], [0, 1, 2, 3]])
  })

  test('set', async () => {
    const program = record(['tensor', 'tensor', 'number'], (x, mask, n) => {
      const copy = x.clone()
      copy.set([mask], -1)
      copy.set([[n, undefined]], 5)
      return copy
    })
    const mask = Tensor.from([true, false, false, true])
    expect((await program.run(arange(0, 4), mask, 2)).tolist()).toEqual([-1, 1, 5, 5])
    expect((await program.run(arange(0, 4, 1, { dtype: 'float64' }), mask, 3)).tolist()).toEqual([-1, 1, 2, 5])
  })
})
