import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  backend,
  callOperator,
  manualSeed,
  OutOfMemoryError,
  RandomGenerator,
  randn,
  record,
  scope,
  Tensor,
  TensorError,
  zeros,
} from '../../src/tensor/index.js'
import { native } from '../../src/tensor/native.js'

const matrix = () => Tensor.from([1, 2, 3, 4], { shape: [2, 2] })
const call = (name: string, ...args: Parameters<typeof callOperator> extends [string, ...infer A] ? A : never) =>
  callOperator(name, ...args) as Tensor

function thrownBy(fn: () => unknown): Error {
  try {
    fn()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

describe('any operator by name', () => {
  test('tensors and several results', () => {
    const found = callOperator('aten::linalg_eigh', Tensor.from([2, 0, 0, 3], { shape: [2, 2] })) as Tensor[]
    expect(found.map(tensor => tensor.shape)).toEqual([[2], [2, 2]])
    expect(found[0]!.tolist()).toEqual([2, 3])
  })

  test('namespace and overload are optional', () => {
    expect(call('neg', matrix()).tolist()).toEqual([
      [-1, -2],
      [-3, -4],
    ])
    expect(call('aten::add.Scalar', matrix(), 1).at(0, 0).item()).toBe(2)
  })

  test('arguments by name, and the defaults of the schema', () => {
    const a = matrix()
    expect(call('add.Tensor', a, a, { alpha: 10 }).at(0, 0).item()).toBe(11)
    expect(call('sum.dim_IntList', a, { dim: [0], keepdim: true }).shape).toEqual([1, 2])
    expect(call('sum.dim_IntList', a, [0], undefined, { dtype: 'float64' }).dtype).toBe('float64')
  })

  test('an optional tensor, given or not', () => {
    const [x, w, b] = [matrix(), matrix(), Tensor.from([100, 200])]
    expect(call('linear', x, w).tolist()).toEqual([
      [5, 11],
      [11, 25],
    ])
    expect(call('linear', x, w, null).at(0, 0).item()).toBe(5)
    expect(call('linear', x, w, b).at(0, 0).item()).toBe(105)
  })

  test('lists of tensors, of optional tensors, of integers, floats, scalars and booleans', () => {
    const a = matrix()
    expect(call('cat', [a, a], 1).shape).toEqual([2, 4])
    const rows = Tensor.from([1n, 0n])
    expect(call('index.Tensor', a, [null, rows]).tolist()).toEqual([
      [2, 1],
      [4, 3],
    ])
    expect(call('permute', a, [1, 0]).at(0, 1).item()).toBe(3)
    const image = Tensor.from(new Float32Array(16), { shape: [1, 1, 4, 4] })
    expect(call('upsample_nearest2d.vec', image, null, [2.0, 2.0]).shape).toEqual([1, 1, 8, 8])
    const raised = callOperator('_foreach_pow.ScalarList', [a, a], [2, 0.5]) as Tensor[]
    expect(raised.map(tensor => tensor.at(1, 1).item())).toEqual([16, 2])
    const weight = Tensor.from(new Float32Array(4).fill(1), { shape: [1, 1, 2, 2] })
    const grads = callOperator(
      'convolution_backward',
      Tensor.from(new Float32Array(9), { shape: [1, 1, 3, 3] }),
      image,
      weight,
      null,
      [1, 1],
      [0, 0],
      [1, 1],
      false,
      [0, 0],
      1,
      [true, false, false],
    ) as unknown[]
    expect(grads[0]).toBeInstanceOf(Tensor)
    expect(grads.slice(1)).toEqual([undefined, undefined])
  })

  test('a number where a list of a fixed length is asked for, and a list of one', () => {
    const image = Tensor.from(new Float32Array(16), { shape: [1, 1, 4, 4] })
    for (const size of [2, [2], [2, 2]]) expect(call('avg_pool2d', image, size).shape).toEqual([1, 1, 2, 2])
    expect(() => call('avg_pool2d', image, [2, 2, 2])).toThrow(/'kernel_size' expects .*2 items, got 3/)
    expect(() => call('reflection_pad2d', image, [])).toThrow(/'padding' expects .*4 items, got 0/)
  })

  test('integers, floats, booleans, scalars and bigints', () => {
    expect(call('arange', 5n).tolist()).toEqual([0, 1, 2, 3, 4])
    expect(call('full', [1], 9007199254740993n, { dtype: 'int64' }).toArray<'int64'>()[0]).toBe(9007199254740993n)
    expect(call('full', [2], true).dtype).toBe('bool')
    expect(call('full', [2], 0.5).dtype).toBe('float32')
    expect(call('dropout', matrix(), 0, false).at(1, 1).item()).toBe(4)
    expect(callOperator('equal', matrix(), matrix())).toBe(true)
    expect(callOperator('size.int', matrix(), 1)).toBe(2)
    expect(callOperator('sym_size.int', matrix(), 0)).toBe(2)
    expect(() => call('arange', 2n ** 64n)).toThrow(/does not fit into 64 bits/)
    expect(() => call('permute', matrix(), [1.5, 0])).toThrow(/'dims' expects int\[\], got 1.5/)
  })

  test('strings', () => {
    expect(call('div.Tensor_mode', matrix(), Tensor.from([2]), { rounding_mode: 'floor' }).tolist()).toEqual([
      [0, 1],
      [1, 2],
    ])
    expect(call('einsum', 'ij->ji', [matrix()]).at(0, 1).item()).toBe(3)
  })

  test('dtypes, devices, layouts and memory formats by name', () => {
    const made = call('empty.memory_format', [2, 3, 4, 5], {
      dtype: 'float64',
      device: 'cpu',
      layout: 'strided',
      memory_format: 'channels_last',
    })
    expect([made.dtype, made.device, made.isContiguous]).toEqual(['float64', 'cpu', false])
    const sparse = call('to_sparse', matrix(), { layout: 'sparse_coo' })
    expect(call('to_dense', sparse).tolist()).toEqual(matrix().tolist())
    expect(() => call('zeros', [1], { dtype: 'float31' })).toThrow(/unknown dtype "float31"/)
    expect(() => call('zeros', [1], { dtype: 999 })).toThrow(/'dtype' expects ScalarType\?, got 999/)
    expect(() => call('zeros', [1], { layout: 'round' })).toThrow(/unknown Layout "round"/)
    expect(() => call('zeros', [1], { device: 'abacus' })).toThrow(/unknown device "abacus"/)
  })

  test('generators', () => {
    const draw = () => call('randn.generator', [4], { generator: new RandomGenerator({ seed: 3 }) }).tolist()
    expect(draw()).toEqual(draw())
    const gone = new RandomGenerator({ seed: 3 })
    gone.dispose()
    expect(() => call('randn.generator', [4], { generator: gone })).toThrow(/'generator' .*disposed/)
  })

  test('in-place and out operators give the tensor they wrote', () => {
    const a = matrix()
    expect(callOperator('mul_.Scalar', a, 2)).toBe(a)
    expect(a.at(1, 1).item()).toBe(8)
    const out = zeros([2, 2])
    expect(callOperator('add.out', a, a, { out })).toBe(out)
    expect(out.at(1, 1).item()).toBe(16)
    expect(callOperator('_foreach_add_.Scalar', [a], 1)).toBeUndefined()
    expect(a.at(1, 1).item()).toBe(9)
  })

  test('recorded like the typed ones', async () => {
    const program = record(['tensor'], x => {
      const [values] = callOperator('linalg_eigh', x) as Tensor[]
      const [first] = callOperator('split.Tensor', values!, 1) as Tensor[]
      return call('mul.Scalar', first!, 10)
    })
    expect((await program.run(Tensor.from([2, 0, 0, 3], { shape: [2, 2] }))).tolist()).toEqual([20])
    expect(() => record(['tensor'], x => void callOperator('equal', x, x))).toThrow(
      /does not exist while a program is recorded/,
    )
  })

  test('more results than the mailbox had room for', () => {
    scope(() => {
      const parts = callOperator('split.Tensor', Tensor.from(new Float32Array(40_000)), 1) as Tensor[]
      expect(parts.length).toBe(40_000)
      expect(parts.at(-1)!.shape).toEqual([1])
    })
  })

  test('more arguments than the mailbox had room for', () => {
    const one = Tensor.from([1])
    expect(call('cat', new Array(30_000).fill(one)).sum().item()).toBe(30_000)
  })
})

describe('errors', () => {
  test('an operator that refuses names itself, its arguments, their shapes and dtypes', () => {
    const error = thrownBy(() => matrix().matmul(Tensor.from([1, 2, 3], { dtype: 'float64' })))
    expect(error).toBeInstanceOf(TensorError)
    expect(error.message).toMatch(/^aten::matmul: .*\(self: Float\[2, 2\] cpu, other: Double\[3\] cpu\)$/s)
  })

  test('a wrong argument is named with what it should be', () => {
    const wrong = [
      [() => call('add.Tensor', matrix()), /aten::add\.Tensor: argument 'other' \(Tensor\) is missing/],
      [() => call('add.Tensor', matrix(), 'x'), /argument 'other' expects Tensor, got "x"/],
      [() => call('add.Tensor', matrix(), null), /argument 'other' expects Tensor, got null/],
      [() => call('add.Tensor', matrix(), [matrix()]), /argument 'other' expects Tensor, got a list/],
      [() => call('cat', matrix()), /argument 'tensors' expects Tensor\[\], got a tensor/],
      [() => call('softmax.int', matrix(), true), /argument 'dim' expects int, got True/],
      [() => call('add.Tensor', matrix(), matrix(), 1, 2), /takes 3 arguments, got 4/],
      [
        () => call('add.Tensor', matrix(), { othr: matrix() }),
        /no argument 'othr'; its arguments are self, other, alpha/,
      ],
      [() => call('add.Tensor', matrix(), { self: matrix() }), /'self' is given twice/],
      [() => call('no_such_operator'), /has no operator aten::no_such_operator/],
      [() => call('add.Tensr', matrix(), matrix()), /has no operator aten::add\.Tensr/],
      [() => call('not an operator'), /does not name an operator/],
    ] as const
    for (const [fn, message] of wrong) {
      const error = thrownBy(fn)
      expect(error).toBeInstanceOf(ArgumentError)
      expect(error.message).toMatch(message)
    }
  })

  test('a disposed tensor is named as one', () => {
    const gone = matrix()
    gone.dispose()
    expect(() => matrix().add(gone)).toThrow(/add\.Tensor: argument 'other' is a tensor that was disposed/)
    expect(() => gone.shape).toThrow(/disposed/)
    expect(() => gone.alias()).toThrow(ArgumentError)
  })

  test('an argument whose getter computes does not spoil the call', () => {
    const options = {
      get alpha() {
        return matrix().sum().item()
      },
    }
    expect(() => matrix().add(matrix(), options)).toThrow(/reading the arguments made another call/)
    expect(matrix().add(matrix()).at(0, 0).item()).toBe(2)
  })

  test('out of memory is an error of its own, eagerly and in programs, and life goes on', async () => {
    for (const size of [2 ** 42, 2 ** 50]) {
      const error = thrownBy(() => zeros([size]))
      expect(error).toBeInstanceOf(OutOfMemoryError)
      expect(error.message).toMatch(/aten::zeros: out of memory: \d+ bytes asked for/)
    }
    const program = record(['tensor', 'number'], (x, n) => x.expand([n, 2, 2]).contiguous())
    await expect(program.run(matrix(), 2 ** 42)).rejects.toBeInstanceOf(OutOfMemoryError)
    expect((await program.run(matrix(), 2)).shape).toEqual([2, 2, 2])
  })
})

describe('the typed operators', () => {
  const generated = readFileSync(new URL('../../src/tensor/operators.generated.ts', import.meta.url), 'utf8')
  const madeFrom = /libtorch (\d+\.\d+)/.exec(generated.split('\n')[0]!)?.[1]

  test('say which libtorch they were made from, and are what it gives', () => {
    expect(madeFrom).toBeDefined()
    // Another libtorch has other schemas; what counts there is that each operator still binds, below.
    if (!backend().libtorchVersion.startsWith(`${madeFrom}.`)) return
    const tool = fileURLToPath(new URL('../../tools/generate-operators.mjs', import.meta.url))
    const { status, stderr } = spawnSync(process.execPath, [tool, '--check'], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  test('each binds to an operator of the libtorch in use', () => {
    const operators = [...generated.matchAll(/^const \w+ = operator\('(\w+)', '(\w*)', '([\w,]*)'\)$/gm)]
    expect(operators.length).toBeGreaterThan(200)
    for (const [, name, overload, names] of operators)
      expect(native.bind(`aten::${name}`, overload!, names!), `${name}.${overload}`).toBeGreaterThanOrEqual(0)
  })
})

test('the same draw for the same seed, through the typed and the generic call', () => {
  manualSeed(5)
  const typed = randn([3]).tolist()
  manualSeed(5)
  expect(call('randn', [3]).tolist()).toEqual(typed)
})
