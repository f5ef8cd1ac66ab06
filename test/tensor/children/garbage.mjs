// Values a caller should not pass, as fast-check arbitraries of functions that make them: fast-check looks at what it
// generates, and some of these do not bear being looked at.
import fc from 'fast-check'

const { proxy: revoked, revoke } = Proxy.revocable([], {})
revoke()

const detached = () => {
  const array = new Float32Array(4)
  structuredClone(array.buffer, { transfer: [array.buffer] })
  return array
}
const cyclic = () => {
  const list = [1]
  list.push(list)
  return list
}
const nested = () => {
  const list = []
  list.push(list)
  return list
}
const throwing = () => ({
  get length() {
    throw new Error('a getter that throws')
  },
  get dtype() {
    throw new Error('a getter that throws')
  },
  get dim() {
    throw new Error('a getter that throws')
  },
  get ref() {
    throw new Error('a getter that throws')
  },
})

const later = arbitrary => arbitrary.map(value => () => value)
const made = (arbitrary, make) => arbitrary.map(value => () => make(value))
const listOf = (arbitrary, maxLength) => made(fc.array(arbitrary, { maxLength }), items => items.map(item => item()))

/** Sizes are either small or beyond any machine, so that no call takes long. */
export const numbers = later(
  fc.constantFrom(
    0,
    1,
    2,
    3,
    -1,
    -2,
    5,
    7,
    0.5,
    -0,
    Number.NaN,
    Infinity,
    -Infinity,
    2 ** 40,
    2 ** 53,
    -(2 ** 53),
    2 ** 62,
    1e300,
    -1e300,
    2 ** -1074,
  ),
)
const bigints = later(fc.constantFrom(0n, 1n, -1n, 2n ** 40n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n, 10n ** 40n))
const strings = later(
  fc.constantFrom(
    '',
    'float32',
    'cpu',
    'cuda',
    'cuda:7',
    'meta',
    'mean',
    'tanh',
    'floor',
    'bilinear',
    'constant',
    'ij,jk->ik',
    'i'.repeat(1000),
    '\ud800',
    '\0',
    '__proto__',
  ),
)

/** `library` is the tensor room; tensors are made afresh, since calls may change them. */
export function garbage(library) {
  const { Tensor, RandomGenerator, noGrad } = library
  const dtypes = ['float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool']
  const shapes = fc.constantFrom(
    [],
    [0],
    [1],
    [3],
    [2, 3],
    [3, 2],
    [2, 2],
    [1, 4, 4],
    [2, 0, 3],
    [1, 2, 3, 4],
    [1, 1, 1, 1, 2],
  )
  const tensors = made(fc.tuple(shapes, fc.constantFrom(...dtypes), fc.nat(6)), ([shape, dtype, how]) => {
    const count = shape.reduce((a, b) => a * b, 1)
    const data = Float64Array.from({ length: count }, (_, i) => [i, -1, 1e30, Number.NaN, i % 2, 3, 0][how])
    const tensor = Tensor.from(data, { shape, dtype: 'float64' })
    return noGrad(() => tensor.cast(dtype))
  })
  const graded = made(shapes, shape => {
    const count = shape.reduce((a, b) => a * b, 1)
    return Tensor.from(new Float32Array(count).fill(0.5), { shape, requiresGrad: true })
  })
  const views = made(fc.constantFrom(0, 1, 2), how => {
    const base = Tensor.from(new Float32Array(12), { shape: [3, 4] })
    return how === 0 ? base.t() : how === 1 ? base.at([1, 3]) : Tensor.from([1]).expand([2, 3])
  })
  const disposed = made(fc.constant(0), () => {
    const tensor = Tensor.from([1, 2])
    tensor.dispose()
    return tensor
  })
  const forged = made(fc.oneof(numbers, bigints, strings, later(fc.double())), ref => {
    const tensor = Object.create(Tensor.prototype)
    tensor.ref = ref()
    return tensor
  })
  const generators = made(fc.boolean(), alive => {
    const generator = new RandomGenerator({ seed: 1 })
    if (!alive) generator.dispose()
    return generator
  })
  const foreign = fc.constantFrom(
    () => ({}),
    () => ({ ref: 1 }),
    () => Object.create(null),
    () => new Proxy([], { get: () => Number.NaN }),
    () => new Proxy([1, 2], {}),
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('a proxy that throws')
          },
        },
      ),
    () => revoked,
    () => new Map(),
    () => new Date(),
    () => Symbol('symbol'),
    () => () => 1,
    () => class {},
    () => Promise.resolve(1),
    () => null,
    () => undefined,
    () => true,
    () => false,
    () => Object.assign(new Array(2), { 1: 1 }),
    () => new Array(2 ** 32 - 1),
    cyclic,
    nested,
    throwing,
    detached,
    () => new Float32Array(new SharedArrayBuffer(16)),
    () => new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 })),
    () => new Float64Array(3),
    () => new BigUint64Array(3),
    () => new DataView(new ArrayBuffer(4)),
    () => new ArrayBuffer(8),
    () => Object.assign([1, 2], { length: 7 }),
  )
  const plain = fc.oneof(numbers, bigints, strings, later(fc.boolean()))
  const one = fc.oneof(
    { weight: 6, arbitrary: tensors },
    { weight: 2, arbitrary: graded },
    { weight: 1, arbitrary: views },
    { weight: 1, arbitrary: disposed },
    { weight: 1, arbitrary: forged },
    { weight: 1, arbitrary: generators },
    { weight: 4, arbitrary: plain },
    { weight: 3, arbitrary: foreign },
  )
  const lists = fc.oneof(listOf(numbers, 5), listOf(tensors, 3), listOf(one, 4))
  const options = made(
    fc.dictionary(
      fc.constantFrom(
        'dim',
        'keepdim',
        'dtype',
        'device',
        'generator',
        'alpha',
        'train',
        'isCausal',
        'shape',
        'reduction',
        'requiresGrad',
      ),
      one,
      { maxKeys: 3 },
    ),
    entries => Object.fromEntries(Object.entries(entries).map(([key, make]) => [key, make()])),
  )
  const value = fc.oneof(
    { weight: 6, arbitrary: one },
    { weight: 3, arbitrary: lists },
    { weight: 2, arbitrary: options },
  )
  return { value, tensors, graded, numbers, later, listOf }
}

/** One line that tells what a value is, whatever it does when it is looked at. */
export function show(value) {
  try {
    if (typeof value === 'bigint') return `${value}n`
    if (Array.isArray(value))
      return `[${value.length > 8 ? `${value.length} items` : Array.from(value, item => (Array.isArray(item) ? 'a list' : show(item))).join(', ')}]`
    if (typeof value === 'object' && value !== null)
      return Object.hasOwn(value, 'ref')
        ? `Tensor(${typeof value.ref === 'number' && value.ref > 0 ? String(value) : `ref ${String(value.ref)}`})`
        : Object.prototype.toString.call(value) + JSON.stringify(Object.keys(value))
    return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value)
  } catch {
    return 'something unspeakable'
  }
}
