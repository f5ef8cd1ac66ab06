/**
 * Projections of few rows against the same of operators in float64: what each part of a step makes of its inputs, and parts one
 * behind the other. On the CPU the operators themselves are held to float64, in bfloat16.
 */
import { describe, expect, test } from 'vitest'
import type { DeferredRmsNorm, SkinnyGemm } from '../../src/kernels/index.js'
import { skinnyGemmKernels } from '../../src/kernels/index.js'
import { planSkinnyGemm, type StreamKind } from '../../src/kernels/skinny-gemm.js'
import { manualSeed, randint, randn, record, scope, synchronize, Tensor } from '../../src/tensor/index.js'
import { card, describeHopper, device, onCuda, onHopper, poison, tolerance, worstError } from '../support/device.js'
import { skinnyGemmReference } from './skinny-gemm-reference.js'

const EPS = 1e-6
const blocks = card?.multiprocessors ?? 132
const kernels: (rows: number) => SkinnyGemm = onHopper
  ? skinnyGemmKernels(EPS, blocks)
  : () => skinnyGemmReference('bfloat16', EPS)

manualSeed(7)

interface Shape {
  rows: number
  hidden: number
  intermediate: number
  features: number
  biased: boolean
}

/** Random values on the device; those of a weight smaller the more of them are summed. */
const make = (shape: readonly number[], summed = 1): Tensor =>
  scope(() => randn(shape, { device }).div(Math.sqrt(summed)).cast('bfloat16'))
const makeIds = (count: number): Tensor => randint(0, 1000, [count], { dtype: 'int32', device })

/** Squares of any size, of columns in several parts: what makes them is checked by itself. */
function makeNormed(rows: number, width: number): DeferredRmsNorm {
  const parts = Math.ceil(width / 64)
  const squares = randn([parts, rows], { device }).abs().add(1).mul(64)
  return { values: make([rows, width]), squares, parts, width }
}

/** Of values with tensors among them, however deep, the same with other tensors. */
function mapTensors<T>(value: T, change: (tensor: Tensor) => Tensor): T {
  if (value instanceof Tensor) return change(value) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTensors(inner, change)])) as T
}
const widen = (tensor: Tensor): Tensor => (tensor.dtype === 'int32' ? tensor : tensor.cast('float64'))

/** Sums of squares are in as many parts as their maker likes. */
const halves = ({ values, squares }: DeferredRmsNorm): Tensor[] => [values, squares.sum([0])]

interface Part {
  /** The product that it is, where it is one. */
  product?: (shape: Shape) => { kind: StreamKind; features: number; intermediate: number }
  /** Inputs of the shape, and what a step makes of them, or of their like in float64. */
  prepare(shape: Shape): (ops: SkinnyGemm, change: (tensor: Tensor) => Tensor) => Tensor[]
}

const same = (tensor: Tensor): Tensor => tensor

const parts: Record<keyof SkinnyGemm, Part> = {
  begin: {
    prepare: ({ rows, hidden }) => {
      const [ids, given] = [makeIds(rows), { table: make([1000, hidden]), norm: make([hidden]) }]
      return (ops, change) => {
        const { residual, normed } = ops.begin(ids, mapTensors(given, change))
        return [residual, ...halves(normed)]
      }
    },
  },
  plain: {
    product: ({ hidden, features }) => ({ kind: 'plain', features, intermediate: hidden }),
    prepare: ({ rows, hidden, features, biased }) => {
      const x = makeNormed(rows, hidden)
      const given = { weight: make([features, hidden], hidden), bias: biased ? make([features]) : null }
      return (ops, change) => [ops.plain(mapTensors(x, change), mapTensors(given, change))]
    },
  },
  gated: {
    product: ({ hidden, intermediate }) => ({ kind: 'gated', features: 2 * intermediate, intermediate: hidden }),
    prepare: ({ rows, hidden, intermediate }) => {
      const [x, given] = [makeNormed(rows, hidden), { weight: make([2 * intermediate, hidden], hidden) }]
      return (ops, change) => [ops.gated(mapTensors(x, change), mapTensors(given, change))]
    },
  },
  stream: {
    product: ({ hidden, intermediate }) => ({ kind: 'stream', features: hidden, intermediate }),
    prepare: ({ rows, hidden, intermediate, biased }) => {
      const x = make([rows, intermediate])
      const weight = make([hidden, intermediate], intermediate)
      const given = { weight, bias: biased ? make([hidden]) : null, norm: make([hidden]) }
      const before = make([rows, hidden]).cast('float32')
      return (ops, change) => {
        const residual = change(before).clone()
        return [residual, ...halves(ops.stream(change(x), { ...mapTensors(given, change), residual }))]
      }
    },
  },
  end: {
    prepare: ({ rows, hidden }) => {
      const x = makeNormed(rows, hidden)
      return (ops, change) => [ops.end(mapTensors(x, change))]
    },
  },
}

const sizes = [
  { hidden: 896, intermediate: 4864, features: 1152, biased: true },
  { hidden: 128, intermediate: 328, features: 136, biased: false },
  { hidden: 72, intermediate: 40, features: 8, biased: true },
]
const allShapes: Shape[] = [
  ...sizes.flatMap(size => [4, 8, 33, 64, 96, 128, 200, 256].map(rows => ({ ...size, rows }))),
  { hidden: 2048, intermediate: 8192, features: 3072, biased: false, rows: 48 },
]
const shapes = onHopper ? allShapes : onCuda ? [] : allShapes.filter(({ hidden, rows }) => hidden < 200 && rows < 64)
const titleOf = ({ rows, hidden, intermediate, features, biased }: Shape): string =>
  `${rows} rows of ${hidden}, ${intermediate} and ${features}${biased ? ', biased' : ''}`
const planned = (name: keyof SkinnyGemm, shape: Shape): boolean => {
  const product = parts[name].product?.(shape)
  return !product || planSkinnyGemm(product.kind, { ...product, rows: shape.rows, blocks }) !== undefined
}
const names = Object.keys(parts) as (keyof SkinnyGemm)[]

describe.each(names)('%s', name => {
  const each = shapes.filter(shape => planned(name, shape)).map(shape => ({ shape, title: titleOf(shape) }))
  if (each.length === 0) test.skip('not run: the kernels are for compute capability 9', () => {})
  else
    test.each(each)('$title', async ({ shape }) => {
      const call = parts[name].prepare(shape)
      const exact = scope(() => call(skinnyGemmReference('float64', EPS), widen))
      const ops = kernels(shape.rows)
      const squares = Tensor.empty([Math.ceil(shape.hidden / 64), shape.rows], { device })
      poison([...exact.map(tensor => tensor.cast('bfloat16')), squares])
      const first = call(ops, same)
      if (onCuda) await synchronize()
      for (const [i, found] of first.entries()) {
        const error = scope(() => found.cast('float64').sub(exact[i]!).norm().item() / exact[i]!.norm().item())
        expect(error, `relative error of value ${i}`).toBeLessThan(tolerance.bfloat16)
        expect(worstError(found, exact[i]!), `value ${i} everywhere`).toBeLessThan(tolerance.bfloat16)
        expect(found.shape).toEqual(exact[i]!.shape)
      }
      const program = record([], () => call(ops, same))
      const results: [how: string, values: readonly Tensor[]][] = [
        ['again', call(ops, same)],
        ['program', await program.run()],
      ]
      if (onCuda) {
        const graph = await program.capture([])
        for (const how of ['graph', 'graph again']) {
          for (const output of graph.outputs) output.fill_(Number.NaN)
          graph.replay()
          await synchronize()
          results.push([how, graph.outputs.map(tensor => tensor.clone())])
        }
        graph.dispose()
      }
      for (const [how, values] of results)
        for (const [i, value] of values.entries())
          expect(value.equal(first[i]!), `${how} ${i} has the same bits`).toBe(true)
      program.dispose()
    })
})

/**
 * Parts one behind the other, where each starts while the one in front of it runs: the bits of parts that wait for each other.
 * Other tokens every time, because what the last step left in memory would be right for the same ones.
 */
describeHopper('a chain of parts that overlap', () => {
  const possible = shapes.filter(shape => names.every(name => planned(name, shape)))
  test.each(possible.map(shape => ({ shape, title: titleOf(shape) })))('$title', async ({ shape }) => {
    const { rows, hidden, intermediate, features, biased } = shape
    const bias = (width: number): Tensor | null => (biased ? make([width]) : null)
    const table = make([1000, hidden])
    const norms = Array.from({ length: 5 }, () => make([hidden]))
    const layers = [0, 1].map(() => ({
      plain: { weight: make([features, hidden], hidden), bias: bias(features) },
      out: { weight: make([hidden, features], features), bias: bias(hidden) },
      gated: { weight: make([2 * intermediate, hidden], hidden) },
      down: { weight: make([hidden, intermediate], intermediate), bias: bias(hidden) },
    }))
    const ids = makeIds(rows)
    const chain = (ops: SkinnyGemm): Tensor[] =>
      scope(() => {
        let { residual, normed } = ops.begin(ids, { table, norm: norms[0]! })
        for (const [i, { plain, out, gated, down }] of layers.entries()) {
          normed = ops.stream(ops.plain(normed, plain), { ...out, residual, norm: norms[2 * i + 1]! })
          normed = ops.stream(ops.gated(normed, gated), { ...down, residual, norm: norms[2 * i + 2]! })
        }
        return [residual, ops.end(normed)]
      })
    const ops = kernels(rows)
    const waiting = waitAfterEach(ops, ids)
    const program = record([], () => chain(ops))
    const graph = await program.capture([])
    const expectSame = (how: string, found: readonly Tensor[], expected: readonly Tensor[]): void => {
      for (const [i, value] of found.entries())
        expect(value.equal(expected[i]!), `${how} ${i} has the same bits`).toBe(true)
    }
    for (let time = 0; time < 5; time++) {
      ids.copy_(makeIds(rows))
      const expected = chain(waiting)
      expect(expected[1]!.cast('float32').abs().sum().item()).toBeLessThan(Number.POSITIVE_INFINITY)
      expectSame(`eager ${time}`, chain(ops), expected)
      expectSame(`program ${time}`, await program.run(), expected)
      for (const output of graph.outputs) output.fill_(Number.NaN)
      graph.replay()
      await synchronize()
      expectSame(`graph ${time}`, graph.outputs, expected)
    }
    graph.dispose()
    program.dispose()
  })
})

/** Each part has ended before the next is started: a number that comes after it is waited for. */
function waitAfterEach(ops: SkinnyGemm, ids: Tensor): SkinnyGemm {
  const after = <T>(made: T): T => {
    ids.amax().item()
    return made
  }
  return {
    begin: (...given) => after(ops.begin(...given)),
    plain: (...given) => after(ops.plain(...given)),
    gated: (...given) => after(ops.gated(...given)),
    stream: (...given) => after(ops.stream(...given)),
    end: (...given) => after(ops.end(...given)),
  }
}
