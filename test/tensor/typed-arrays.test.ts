import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  type ArrayOf,
  callOperator,
  type DType,
  dtypeBytes,
  memoryUse,
  Tensor,
  type TypedArray,
  zeros,
} from '../../src/tensor/index.js'

const samples: { [D in DType]: ArrayOf[D] } = {
  uint8: Uint8Array.of(0, 1, 127, 128, 255),
  int8: Int8Array.of(-128, -1, 0, 1, 127),
  int16: Int16Array.of(-32768, -1, 0, 1, 32767),
  int32: Int32Array.of(-(2 ** 31), -1, 0, 1, 2 ** 31 - 1),
  int64: BigInt64Array.of(-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n),
  float16: Uint16Array.of(0x0000, 0x8000, 0x3c00, 0x7c00, 0x7bff, 0x0001),
  bfloat16: Uint16Array.of(0x0000, 0x8000, 0x3f80, 0x7f80, 0x7f7f, 0x0001),
  float32: Float32Array.of(-0, 1, 1.1, Infinity, -Infinity, Number.NaN, 2 ** -149, 3.4e38),
  float64: Float64Array.of(-0, 1, 1.1, Infinity, Number.NaN, 5e-324, 1.7e308),
  bool: Uint8Array.of(0, 1, 1, 0),
}
const bytesOf = (array: TypedArray) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex')

describe('every dtype goes in and comes back, bit for bit', () => {
  for (const dtype of Object.keys(samples) as DType[]) {
    test(dtype, async () => {
      const data = samples[dtype]
      for (const shape of [[data.length], [1, data.length, 1]]) {
        const tensor = Tensor.from(data, { shape, dtype })
        expect([tensor.dtype, tensor.shape, tensor.nbytes]).toEqual([dtype, shape, data.byteLength])
        expect(tensor.nbytes).toBe(data.length * dtypeBytes(dtype))
        for (const back of [
          tensor.toArray(),
          await tensor.data(),
          tensor.read(new (data.constructor as Uint8ArrayConstructor)(data.length)),
        ]) {
          expect(back.constructor).toBe(data.constructor)
          expect(bytesOf(back)).toBe(bytesOf(data))
        }
        expect(Buffer.from(tensor.bytes()).toString('hex')).toBe(bytesOf(data))
      }
    })
  }

  test('any bits of the 16-bit floats', () => {
    fc.assert(
      fc.property(fc.uint16Array({ maxLength: 20 }), fc.constantFrom<DType>('float16', 'bfloat16'), (data, dtype) => {
        expect(bytesOf(Tensor.from(data, { dtype }).toArray())).toBe(bytesOf(data))
      }),
    )
  })

  test('a part of a larger buffer, and one shared between threads', () => {
    const whole = Float32Array.of(1, 2, 3, 4)
    expect(Tensor.from(whole.subarray(1, 3)).tolist()).toEqual([2, 3])
    const shared = new Float32Array(new SharedArrayBuffer(8))
    shared.set([5, 6])
    expect(Tensor.from(shared).tolist()).toEqual([5, 6])
    Tensor.from([7, 8]).read(shared)
    expect([...shared]).toEqual([7, 8])
  })

  test('nothing, and a single number', async () => {
    const empty = Tensor.from(new Float32Array(0), { shape: [2, 0] })
    expect([empty.shape, empty.numel, [...empty.toArray()], [...empty.bytes()]]).toEqual([[2, 0], 0, [], []])
    expect((await empty.data()).length).toBe(0)
    const scalar = Tensor.from(5)
    expect([scalar.shape, scalar.numel, scalar.item(), scalar.tolist()]).toEqual([[], 1, 5, 5])
    expect([...(await scalar.data<'float32'>())]).toEqual([5])
  })
})

describe('nested arrays', () => {
  test('numbers are float32, bigints int64, booleans bool', () => {
    expect(Tensor.from([[1, 2.5]]).dtype).toBe('float32')
    expect(Tensor.from([1n]).dtype).toBe('int64')
    const mask = Tensor.from([[true], [false]])
    expect([mask.dtype, mask.shape, [...mask.toArray()]]).toEqual(['bool', [2, 1], [1, 0]])
    expect(Tensor.from([2 ** 53 - 1], { dtype: 'int64' }).toArray<'int64'>()[0]).toBe(2n ** 53n - 1n)
    expect(Tensor.from([1.5], { dtype: 'bfloat16' }).toArray<'bfloat16'>()[0]).toBe(0x3fc0)
  })

  test('what is no box of numbers is refused', () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const wrong: [unknown, RegExp][] = [
      [[[1], [2, 3]], /unequal length/],
      [[[1], 2], /unequal depth/],
      [[1, [2]], /unequal/],
      [[1, 2n], /cannot be mixed/],
      [['1'], /made of numbers, got string/],
      [[null], /made of numbers, got null/],
      [new Array(2), /made of numbers, got undefined/],
      [cyclic, /more than 64 levels/],
      [undefined, /made of numbers, got undefined/],
      [new Uint16Array(2), /give \{ dtype \}/],
      [new BigUint64Array(2), /no dtype has the elements/],
      [new DataView(new ArrayBuffer(4)), /no dtype has the elements/],
    ]
    for (const [data, message] of wrong) expect(() => Tensor.from(data as number[])).toThrow(message)
  })
})

describe('wrong sizes', () => {
  test('a shape that does not hold the elements', () => {
    const data = new Float32Array(6)
    expect(() => Tensor.from(data, { shape: [4] })).toThrow(/the array has 24 bytes, the shape needs 16/)
    for (const shape of [[-6], [1.5, 4], [Number.NaN], [Infinity], [2 ** 53], [2 ** 40, 2 ** 40]])
      expect(() => Tensor.from(data, { shape })).toThrow(ArgumentError)
    expect(() => Tensor.from(data, { shape: ['6'] as never })).toThrow(/whole numbers/)
    expect(() => Tensor.from(data, { shape: 6 as never })).toThrow(/a shape is an array/)
    expect(() => Tensor.from(data, { shape: new Array(65).fill(1) })).toThrow(/64/)
  })

  test('a target of another size', () => {
    expect(() => Tensor.from([1, 2]).read(new Float32Array(3))).toThrow(/the array has 12 bytes, the tensor 8/)
    const detached = new Float32Array(2)
    structuredClone(detached.buffer, { transfer: [detached.buffer] })
    expect(() => Tensor.from([1, 2]).read(detached)).toThrow(/0 bytes/)
  })
})

describe('bytes()', () => {
  test('is the memory itself, both ways', () => {
    const tensor = zeros([3])
    const view = new Float32Array(tensor.bytes().buffer)
    view[1] = 7
    expect(tensor.tolist()).toEqual([0, 7, 0])
    tensor.fill_(2)
    expect([...view]).toEqual([2, 2, 2])
  })

  test('lives on when the tensor is disposed', () => {
    const tensor = Tensor.from([1, 2, 3])
    const view = new Float32Array(tensor.bytes().buffer)
    tensor.dispose()
    for (let i = 0; i < 50; i++) zeros([3]).dispose()
    expect([...view]).toEqual([1, 2, 3])
  })

  test('of a part shows that part; of a strided or sparse tensor there is none', () => {
    const tensor = Tensor.from([1, 2, 3, 4], { shape: [2, 2] })
    expect(new Float32Array(tensor.at(1).bytes().slice().buffer)).toEqual(Float32Array.of(3, 4))
    expect(() => tensor.t().bytes()).toThrow(/contiguous/)
    expect(() => (callOperator('to_sparse', tensor, { layout: 'sparse_coo' }) as Tensor).bytes()).toThrow(ArgumentError)
    expect(() => (callOperator('_efficientzerotensor', [4]) as Tensor).bytes()).toThrow(/without memory/)
    expect([...(callOperator('_neg_view', tensor) as Tensor).toArray<'float32'>()]).toEqual([-1, -2, -3, -4])
  })

  test('is not moved from under the view by an operator that resizes', () => {
    const tensor = zeros([4])
    const view = tensor.bytes()
    expect(() => tensor.resize_([1000])).toThrow(/resiz/)
    expect(() => callOperator('add.out', zeros([1000]), 1, { out: tensor })).toThrow()
    tensor.resize_([2])
    view.fill(0)
    expect(tensor.tolist()).toEqual([0, 0])
  })

  test('two views of one tensor are of the same memory', () => {
    const tensor = zeros([2])
    const [a, b] = [tensor.bytes(), tensor.bytes()]
    a[0] = 9
    expect(b[0]).toBe(9)
  })

  test('cannot be taken away to another thread', () => {
    const tensor = zeros([2])
    const view = tensor.bytes()
    try {
      structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] })
    } catch {}
    expect(tensor.fill_(1).tolist()).toEqual([1, 1])
  })

  test('a loop over large tensors does not pile up memory', async () => {
    const before = memoryUse().bytes
    let worst = 0
    for (let i = 0; i < 200; i++) {
      const tensor = zeros([1 << 20])
      tensor.bytes()[0] = 1
      tensor.dispose()
      worst = Math.max(worst, memoryUse().bytes - before)
      // A view is freed by a turn of the event loop after the collector found it.
      if (i % 8 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect(worst).toBeLessThan(400 * (1 << 20))
  })
})

test('a dtype without a name here can be looked at, and says so when read', () => {
  const complex = callOperator('zeros', [2], { dtype: 9 }) as Tensor
  expect(complex.shape).toEqual([2])
  expect(String(complex)).toBe('Tensor(dtype 9[2] on cpu)')
  expect(() => complex.dtype).toThrow(/is not supported/)
})
