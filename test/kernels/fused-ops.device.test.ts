/**
 * The fused operators of a device against the same in float64 on the CPU: every dtype, odd numbers of rows, memory that held
 * NaN before. Eager, in a program and in a replayed graph give the same bits, every time.
 */
import { describe, expect, test } from 'vitest'
import { type FusedOps, fusedOps } from '../../src/kernels/index.js'
import { gradients, manualSeed, randn, record, scope, synchronize, Tensor } from '../../src/tensor/index.js'
import { describeCuda, device, onCuda, poison, relativeError, tolerance } from '../support/device.js'

const EPS = 1e-6
const dtypes = ['float32', 'float16', 'bfloat16'] as const
type Shape = readonly number[]

interface Case {
  inputs(shape: Shape): Shape[]
  outputs(shape: Shape): Shape[]
  call(ops: FusedOps, inputs: readonly Tensor[]): readonly Tensor[]
  /** So many are inputs of the program; weights are captured. */
  free: number
  /** Those that a CPU computes in no time come first. */
  shapes: Shape[]
  small: number
}

const cases: Record<string, Case> = {
  addRmsNorm: {
    inputs: shape => [shape, shape, [shape.at(-1)!]],
    outputs: shape => [shape, shape],
    call: (ops, [x, residual, weight]) => ops.addRmsNorm(x!, residual!, weight!, EPS),
    free: 2,
    shapes: [
      [1, 8],
      [7, 896],
      [9, 100],
      [0, 896],
      [513, 896],
      [33, 16, 128],
      [129, 1000],
      [300, 4096],
      [5, 8192],
      [3, 32768],
    ],
    small: 4,
  },
  rmsNorm: {
    inputs: shape => [shape, [shape.at(-1)!]],
    outputs: shape => [shape],
    call: (ops, [x, weight]) => [ops.rmsNorm(x!, weight!, EPS)],
    free: 1,
    shapes: [
      [1, 64],
      [10, 12],
      [77, 2, 128],
      [1025, 896],
      [31, 4096],
    ],
    small: 3,
  },
  swiglu: {
    inputs: shape => [[...shape.slice(0, -1), 2 * shape.at(-1)!]],
    outputs: shape => [shape],
    call: (ops, [gateUp]) => [ops.swiglu(gateUp!)],
    free: 1,
    shapes: [
      [1, 8],
      [13, 7],
      [5, 1001],
      [0, 64],
      [7, 4864],
      [3, 5, 1408],
      [333, 4864],
    ],
    small: 4,
  },
}

// On a device other numbers every time.
const seed = onCuda ? Date.now() % 2 ** 31 : 11
manualSeed(seed)

describe.each(Object.entries(cases))(`%s (seed ${seed})`, (_, { inputs, outputs, call, free, shapes, small }) => {
  const given = onCuda ? shapes : shapes.slice(0, small)
  const each = dtypes.flatMap(dtype => given.map(shape => ({ dtype, shape, title: `${dtype} [${shape}]` })))

  test.each(each)('$title', async ({ dtype, shape }) => {
    const ops = fusedOps({ device, dtype })
    const exactOps = fusedOps({ device: 'cpu', dtype: 'float64' })
    const make = (shapes: readonly Shape[]): Tensor[] => shapes.map(s => randn(s, { device }).cast(dtype))
    const [values, arriving] = [make(inputs(shape)), make(outputs(shape))]
    const wide = (tensors: readonly Tensor[]): Tensor[] => tensors.map(t => t.to('cpu', 'float64'))
    const differentiable = (tensors: Tensor[]): Tensor[] => {
      for (const t of tensors) t.requiresGrad = true
      return tensors
    }
    const forwardBackward = (ops: FusedOps, given: readonly Tensor[], arriving: readonly Tensor[]): Tensor[] =>
      scope(() => {
        const out = call(ops, given)
        return [...out.map(t => t.detach()), ...gradients(out, given, { gradients: arriving }).map(t => t!)]
      })

    const exact = forwardBackward(exactOps, differentiable(wide(values)), wide(arriving))
    differentiable(values)
    poison([...values, ...arriving])
    const first = forwardBackward(ops, values, arriving)
    if (onCuda) await synchronize()
    for (const [i, found] of first.entries()) {
      expect(relativeError(found, exact[i]!), `relative error of value ${i}`).toBeLessThan(tolerance[dtype])
      expect([found.dtype, found.shape]).toEqual([dtype, exact[i]!.shape])
    }

    // A program that runs forward and backward; the gradients arrive through a product, which passes them on unchanged.
    const kinds = [...values.slice(0, free), ...arriving].map(() => 'tensor' as const)
    const program = record(kinds, (...given) => {
      const mine = [...given.slice(0, free), ...values.slice(free)]
      for (const t of mine) t.grad = undefined
      const out = call(ops, mine)
      out
        .map((o, i) => o.mul(given[free + i]!).sum())
        .reduce((sum, part) => sum.add(part))
        .backward()
      return [...out.map(t => t.detach()), ...mine.map(t => t.grad!)]
    })
    const leaves = [...values.slice(0, free), ...arriving]
    const results: [how: string, values: readonly Tensor[]][] = [['again', forwardBackward(ops, values, arriving)]]
    poison([...values, ...arriving])
    results.push(['program', await program.run(...leaves)])
    // An empty launch leaves nothing to capture.
    if (onCuda && !shape.includes(0)) {
      const graph = await program.capture(leaves)
      for (const how of ['graph', 'graph again']) {
        for (const output of graph.outputs) output.detach().fill_(Number.NaN)
        graph.replay()
        await synchronize()
        results.push([how, graph.outputs.map(t => t.detach().clone())])
      }
      graph.dispose()
    }
    for (const [how, found] of results)
      for (const [i, value] of found.entries())
        expect(value.detach().equal(first[i]!.detach()), `${how} ${i} has the same bits`).toBe(true)
    program.dispose()
  })
})

const half = (shape: Shape): Tensor => Tensor.empty(shape, { dtype: 'bfloat16', device }).fill_(1)

describe('what is given', () => {
  const ops = fusedOps({ device, dtype: 'bfloat16' })
  const weight = half([64])

  test('may be expanded, as may a gradient', () => {
    const expanded = half([1, 64]).expand([5, 64])
    expect(ops.rmsNorm(expanded, weight, EPS).cast('float32').amax([0, 1]).item()).toBe(1)
    const spread = half([3, 128])
    spread.requiresGrad = true
    ops.swiglu(spread).sum().backward() // arrives as one number, expanded
    expect(Math.abs(spread.grad!.cast('float32').at(0, 0).item() - 0.9277)).toBeLessThan(0.01)
  })

  describeCuda('is refused by kernels', () => {
    test.each<[what: string, call: () => unknown, message: RegExp]>([
      ['rows of another size', () => ops.rmsNorm(half([2, 32]), weight, EPS), /shape|size/],
      ['a residual of another size', () => ops.addRmsNorm(half([2, 64]), half([3, 64]), weight, EPS), /shape/],
      ['another dtype', () => ops.rmsNorm(half([2, 64]).cast('float32'), weight, EPS), /BFloat16/],
      ['a weight of another dtype', () => ops.rmsNorm(half([2, 64]), weight.cast('float32'), EPS), /bfloat16/],
      ['an odd projection', () => ops.swiglu(half([2, 33])), /unflatten/],
    ])('where it is %s', (_, call, message) => {
      expect(call).toThrow(message)
    })
  })
})
