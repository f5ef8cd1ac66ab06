/** The kernels of a float32 stream and its deferred norms against the same of operators in float64. */
import { expect, test } from 'vitest'
import type { DeferredKernels } from '../../src/kernels/deferred-norm.js'
import { cudaKernels } from '../../src/kernels/deferred-norm-kernels.js'
import { deferredNormComposed } from '../../src/kernels/index.js'
import { manualSeed, randn, record, scope, synchronize, type Tensor } from '../../src/tensor/index.js'
import { card, describeHopper, device, poison, tolerance, worstError } from '../support/device.js'

manualSeed(5)

const make = (shape: readonly number[], summed = 1): Tensor =>
  scope(() => randn(shape, { device }).div(Math.sqrt(summed)).cast('bfloat16'))
const wide = (shape: readonly number[]): Tensor => randn(shape, { device })
const factors = (rows: number): Tensor => scope(() => randn([rows], { device }).abs().add(0.5))

interface Shape {
  rows: number
  hidden: number
  inner: number
}

type Inputs = Record<string, Tensor>
/** Inputs of a shape, and what the kernels make of them. */
const parts: Record<
  string,
  { inputs(shape: Shape): Inputs; call(ops: DeferredKernels, x: Inputs, s: Shape): Tensor[] }
> = {
  'the norm of a stream': {
    inputs: ({ rows, hidden }) => ({ stream: wide([rows, hidden]), weight: make([hidden]) }),
    call: (ops, { stream, weight }, { hidden }) => {
      const given = { added: null, stream: stream!, weight: weight!, hidden, eps: 1e-6 }
      const { values, rstd } = ops.norm(given)
      return [values, rstd]
    },
  },
  'a product that joins it': {
    inputs: ({ rows, hidden, inner }) => ({
      x: make([rows, inner]),
      product: make([hidden, inner], inner),
      bias: make([hidden]),
      stream: wide([rows, hidden]),
      weight: make([hidden]),
    }),
    call: (ops, { x, product, bias, stream, weight }, { hidden, inner }) =>
      [1, inner % 32 === 0 ? 4 : 1].flatMap(parts => {
        const given = { weight: product!, parts, stream: stream!, norm: weight!, hidden, inner, eps: 1e-6 }
        return [bias!, null].flatMap(bias => {
          const { values, rstd, sum } = ops.join(x!, { ...given, bias })
          return [values, rstd, sum]
        })
      }),
  },
  'its backward': {
    inputs: ({ rows, hidden }) => ({
      gradient: make([rows, hidden]),
      sum: wide([rows, hidden]),
      weight: make([hidden]),
      rstd: factors(rows),
      sumGradient: wide([rows, hidden]),
    }),
    call: (ops, { gradient, sum, weight, rstd, sumGradient }, { hidden }) => {
      const given = { gradient: gradient!, sum: sum!, weight: weight!, rstd: rstd!, hidden }
      const added = ops.normBackward({ ...given, sumGradient: sumGradient! })
      const alone = ops.normBackward({ ...given, sumGradient: null })
      return [added.stream, added.rounded, added.weight, alone.stream, alone.weight]
    },
  },
  'a projection of it': {
    inputs: ({ rows, hidden, inner }) => ({
      values: make([rows, hidden]),
      rstd: factors(rows),
      weight: make([inner, hidden], hidden),
      bias: make([inner]),
    }),
    call: (ops, { values, rstd, weight, bias }, { hidden, inner }) =>
      [bias!, null].map(bias =>
        ops.linear({ values: values!, rstd: rstd! }, { weight: weight!, bias, features: inner, inner: hidden }),
      ),
  },
  'SwiGLU of it': {
    inputs: ({ rows, hidden, inner }) => ({
      values: make([rows, hidden]),
      rstd: factors(rows),
      weight: make([2 * inner, hidden], hidden),
    }),
    call: (ops, { values, rstd, weight }, { hidden, inner }) => {
      const given = { weight: weight!, features: inner, inner: hidden }
      const kept = ops.gated({ values: values!, rstd: rstd! }, { ...given, keep: true })
      const { out } = ops.gated({ values: values!, rstd: rstd! }, { ...given, keep: false })
      return [kept.out, kept.gateUp!, out]
    },
  },
  'the backward of that': {
    inputs: ({ rows, inner }) => ({
      gradient: make([rows, inner]),
      gateUp: make([rows, 2 * inner]),
      rstd: factors(rows),
    }),
    call: (ops, { gradient, gateUp, rstd }) => [ops.gatedBackward(gradient!, gateUp!, rstd!)],
  },
  'rows times factors': {
    inputs: ({ rows, hidden }) => ({ x: make([rows, hidden]), rstd: factors(rows) }),
    call: (ops, { x, rstd }, { hidden }) => [ops.scaleRows(x!, rstd!, hidden)],
  },
}

describeHopper('a float32 stream', () => {
  const kinds = ['many', 'few'] as const
  const shapes: Shape[] = [
    { rows: 1000, hidden: 896, inner: 4864 },
    { rows: 1, hidden: 64, inner: 8 },
    { rows: 130, hidden: 136, inner: 328 },
    { rows: 600, hidden: 2048, inner: 1152 },
  ]
  const each = Object.keys(parts).flatMap(name =>
    shapes.flatMap(shape => kinds.map(kind => ({ name, kind, shape, rows: shape.rows, width: shape.hidden }))),
  )
  test.each(each)('$name: $rows rows of $width, as of $kind', async ({ name, kind, shape }) => {
    const { inputs, call } = parts[name]!
    const given = inputs(shape)
    const exactInputs = Object.fromEntries(Object.entries(given).map(([key, tensor]) => [key, tensor.cast('float64')]))
    const exact = scope(() => call(deferredNormComposed('float64'), exactInputs, shape))
    const program = record(
      Object.keys(given).map(() => 'tensor' as const),
      (...tensors) => call(cudaKernels(card!.multiprocessors, kind), recordedInputs(given, tensors), shape),
    )
    poison(exact.map(tensor => tensor.cast('bfloat16')))
    poison(exact.map(tensor => tensor.cast('float32')))
    const found = await program.run(...Object.values(given))
    await synchronize()
    for (const [i, value] of found.entries()) {
      expect(value.shape).toEqual(exact[i]!.shape)
      expect(worstError(value, exact[i]!), `value ${i}`).toBeLessThan(tolerance.bfloat16)
    }
    for (const [i, value] of (await program.run(...Object.values(given))).entries())
      expect(value.equal(found[i]!), `value ${i} again`).toBe(true)
    program.dispose()
  })
})

const recordedInputs = (given: Inputs, tensors: readonly Tensor[]): Inputs =>
  Object.fromEntries(Object.keys(given).map((key, i) => [key, tensors[i]!]))
