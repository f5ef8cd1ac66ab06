/**
 * The fused kernels against their references in float64 on the CPU: every dtype, odd numbers of rows, fresh random inputs, memory
 * that held NaN before. Eager, in a program and in a replayed graph give the same bits, every time.
 */
import {
  backend,
  fusedOps,
  gradients,
  linear,
  manualSeed,
  randint,
  randn,
  record,
  scope,
  synchronize,
  Tensor,
} from '../../dist/tensor/index.js'
import { gatedLinearKernel } from '../../dist/kernels/gated-linear.js'
import { planSkinnyGemm, skinnyGemmFits, skinnyGemmKernels } from '../../dist/kernels/skinny-gemm.js'
import { skinnyGemmReference } from '../../dist/kernels/skinny-gemm-reference.js'
import { Checks } from './checks.mjs'

const EPS = 1e-6
/** ‖out − exact‖ / ‖exact‖: a few roundings of each dtype. */
const tolerance = { float32: 2e-6, float16: 2e-3, bfloat16: 1.5e-2 }

/** Fills the allocator's free blocks of these sizes with NaN. */
function poison(tensors) {
  for (const tensor of tensors) tensor.fullLike(Number.NaN).dispose()
}

function relativeError(found, exact) {
  return scope(() => {
    const wide = found.to('cpu', 'float64')
    const scale = Math.max(exact.norm().item(), 1e-300)
    return wide.sub(exact).norm().item() / scale
  })
}

const cases = {
  addRmsNorm: {
    inputs: shape => [shape, shape, [shape.at(-1)]],
    outputs: shape => [shape, shape],
    call: (ops, [x, residual, weight]) => ops.addRmsNorm(x, residual, weight, EPS),
    free: 2, // these are inputs of the program; the weight is captured
    shapes: [
      [1, 8],
      [7, 896],
      [513, 896],
      [33, 16, 128],
      [129, 1000],
      [300, 4096],
      [5, 8192],
      [3, 32768],
      [9, 100],
      [0, 896],
    ],
  },
  rmsNorm: {
    inputs: shape => [shape, [shape.at(-1)]],
    outputs: shape => [shape],
    call: (ops, [x, weight]) => [ops.rmsNorm(x, weight, EPS)],
    free: 1,
    shapes: [
      [1, 64],
      [77, 2, 128],
      [1025, 896],
      [31, 4096],
      [10, 12],
    ],
  },
  swiglu: {
    inputs: shape => [[...shape.slice(0, -1), 2 * shape.at(-1)]],
    outputs: shape => [shape],
    call: (ops, [gateUp]) => [ops.swiglu(gateUp)],
    free: 1,
    shapes: [
      [1, 8],
      [7, 4864],
      [3, 5, 1408],
      [333, 4864],
      [13, 7],
      [5, 1001],
      [0, 64],
    ],
  },
}

const names = ['outputs', 'again', 'program', 'graph', 'graph again']

async function check(checks, name, dtype, shape) {
  const { inputs, outputs, call, free } = cases[name]
  const label = `${name} ${dtype} [${shape}]`
  const ops = fusedOps({ device: 'cuda', dtype })
  const exactOps = fusedOps({ device: 'cpu', dtype: 'float64' })
  const make = shapes => shapes.map(s => randn(s, { device: 'cuda' }).cast(dtype))
  const given = make(inputs(shape))
  const arriving = make(outputs(shape))
  const wide = tensors => tensors.map(t => t.to('cpu', 'float64'))
  const differentiable = tensors => {
    for (const t of tensors) t.requiresGrad = true
    return tensors
  }
  const both = (ops, given, arriving) =>
    scope(() => {
      const out = call(ops, given)
      return [...out.map(t => t.detach()), ...gradients(out, given, { gradients: arriving })]
    })

  const exact = both(exactOps, differentiable(wide(given)), wide(arriving))
  differentiable(given)
  poison([...given, ...arriving])
  const first = both(ops, given, arriving)
  await synchronize()
  for (const [i, found] of first.entries()) {
    const error = found.numel === 0 ? 0 : relativeError(found, exact[i])
    checks.is(`${label} value ${i}`, error < tolerance[dtype], `relative error ${error}`)
    checks.is(
      `${label} value ${i} has the right kind`,
      found.dtype === dtype && `${found.shape}` === `${exact[i].shape}`,
    )
  }

  // A program that runs forward and backward; the gradients arrive through a product, which passes them on unchanged.
  const kinds = [...given.slice(0, free), ...arriving].map(() => 'tensor')
  const program = record(kinds, (...values) => {
    const mine = [...values.slice(0, free), ...given.slice(free)]
    for (const t of mine) t.grad = undefined
    const out = call(ops, mine)
    let loss
    for (const [i, o] of out.entries()) {
      const part = o.mul(values[free + i]).sum()
      loss = loss ? loss.add(part) : part
    }
    loss.backward()
    return [...out.map(t => t.detach()), ...mine.map(t => t.grad)]
  })
  const values = [...given.slice(0, free), ...arriving]
  const again = both(ops, given, arriving)
  poison([...given, ...arriving])
  const ran = await program.run(...values)
  const results = [again, ran]
  // An empty launch leaves nothing to capture.
  if (!shape.includes(0)) {
    const graph = await program.capture(values)
    for (let i = 0; i < 2; i++) {
      for (const output of graph.outputs) output.detach().fill_(Number.NaN)
      graph.replay()
      await synchronize()
      results.push(graph.outputs.map(t => t.detach().clone()))
    }
    graph.dispose()
  }
  for (const [k, values] of results.entries())
    for (const [i, value] of values.entries())
      checks.is(`${label} ${names[k + 1]} ${i} has the same bits`, value.detach().equal(first[i].detach()))
  program.dispose()
}

/**
 * Projections of few rows: what each part of a step makes of its inputs, squares as their sum over parts; and the product that
 * it is, where it is one.
 */
const streamCases = {
  begin: {
    inputs: ({ rows, hidden, ids, make }) => ({
      ids: ids(rows),
      table: make([1000, hidden]),
      norm: make([hidden]),
    }),
    call: (ops, { ids, table, norm }) => {
      const { residual, normed } = ops.begin(ids, { table, norm })
      return [residual, ...halves(normed)]
    },
  },
  plain: {
    product: ({ hidden, features }) => ({ features, intermediate: hidden }),
    inputs: ({ rows, hidden, features, biased, make, normed }) => ({
      x: normed(rows, hidden),
      weight: make([features, hidden], hidden),
      bias: biased ? make([features]) : null,
    }),
    call: (ops, { x, ...given }) => [ops.plain(x, given)],
  },
  gated: {
    product: ({ hidden, intermediate }) => ({ features: 2 * intermediate, intermediate: hidden }),
    inputs: ({ rows, hidden, intermediate, make, normed }) => ({
      x: normed(rows, hidden),
      weight: make([2 * intermediate, hidden], hidden),
    }),
    call: (ops, { x, ...given }) => [ops.gated(x, given)],
  },
  stream: {
    product: ({ hidden, intermediate }) => ({ features: hidden, intermediate }),
    inputs: ({ rows, hidden, intermediate, biased, make }) => ({
      x: make([rows, intermediate]),
      weight: make([hidden, intermediate], intermediate),
      bias: biased ? make([hidden]) : null,
      residual: make([rows, hidden]),
      norm: make([hidden]),
    }),
    call: (ops, { x, ...given }) => {
      const residual = given.residual.clone()
      return [residual, ...halves(ops.stream(x, { ...given, residual }))]
    },
  },
  end: {
    inputs: ({ rows, hidden, normed }) => ({ x: normed(rows, hidden) }),
    call: (ops, { x }) => [ops.end(x)],
  },
}

/** A sum of squares in several parts: those of some columns each. */
function halves({ values, squares }) {
  return [values, squares.sum([0])]
}

/** Of the values with tensors among them, however deep, the same with other tensors. */
function mapTensors(value, change) {
  if (value instanceof Tensor) return change(value)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, intermediate]) => [key, mapTensors(intermediate, change)]))
}

/** Random values on the device; those of a weight smaller the more of them are summed. */
const streamMake = (shape, intermediate = 1) =>
  scope(() => randn(shape, { device: 'cuda' }).div(Math.sqrt(intermediate)).cast('bfloat16'))
const streamIds = count => randint(0, 1000, [count], { dtype: 'int32', device: 'cuda' })

async function checkStream(checks, kernels, name, shape) {
  const { rows, hidden, intermediate, features, biased } = shape
  const widths = {
    plain: `${hidden} to ${features}`,
    gated: `${hidden} to ${intermediate}`,
    stream: `${intermediate} to ${hidden}`,
  }
  const label = `stream ${name} ${rows} rows, ${widths[name] ?? hidden}${biased ? ', biased' : ''}`
  const dtype = 'bfloat16'
  // Squares of any size, of columns in several parts: what makes them is checked by itself.
  const normed = (rows, width) => {
    const parts = Math.ceil(width / 64)
    const squares = randn([parts, rows], { device: 'cuda' }).abs().add(1).mul(64)
    return { values: streamMake([rows, width]), squares, parts, width }
  }
  const { inputs, call } = streamCases[name]
  const given = inputs({ ...shape, make: streamMake, ids: streamIds, normed })
  const wide = tensor => (tensor.dtype === 'int32' ? tensor : tensor.cast('float64'))
  const exact = scope(() => call(skinnyGemmReference('float64', EPS), mapTensors(given, wide)))
  const ops = kernels(rows)
  const squares = Tensor.empty([Math.ceil(hidden / 64), rows], { device: 'cuda' })
  poison([...exact.map(tensor => tensor.cast(dtype)), squares])
  const first = call(ops, given)
  await synchronize()
  for (const [i, found] of first.entries()) {
    const error = scope(() => found.cast('float64').sub(exact[i]).norm().item() / exact[i].norm().item())
    checks.is(`${label} value ${i}`, error < tolerance[dtype], `relative error ${error}`)
    // One wrong tile among thousands hardly shows in the norm of them all.
    const worst = scope(() => found.cast('float64').sub(exact[i]).abs().amax().item() / exact[i].abs().amax().item())
    checks.is(`${label} value ${i} everywhere`, worst < tolerance[dtype], `error ${worst} of the largest`)
    checks.is(`${label} value ${i} has the right shape`, `${found.shape}` === `${exact[i].shape}`)
  }
  const program = record([], () => call(ops, given))
  const results = [call(ops, given), await program.run()]
  const graph = await program.capture([])
  for (let i = 0; i < 2; i++) {
    for (const output of graph.outputs) output.fill_(Number.NaN)
    graph.replay()
    await synchronize()
    results.push(graph.outputs.map(tensor => tensor.clone()))
  }
  graph.dispose()
  for (const [k, values] of results.entries())
    for (const [i, value] of values.entries())
      checks.is(`${label} ${names[k + 1]} ${i} has the same bits`, value.equal(first[i]))
  program.dispose()
}

/**
 * Parts one behind the other, where each starts while the one in front of it runs: the bits of parts that wait for each other.
 * Other tokens every time, because what the last step left in memory would be right for the same ones.
 */
async function checkStreamChain(checks, kernels, shape) {
  const { rows, hidden, intermediate, features, biased } = shape
  const label = `a chain of streams, ${rows} rows of ${hidden}, ${intermediate} and ${features}`
  const make = streamMake
  const bias = width => (biased ? make([width]) : null)
  const table = make([1000, hidden])
  const norms = Array.from({ length: 5 }, () => make([hidden]))
  const layers = [0, 1].map(() => ({
    plain: { weight: make([features, hidden], hidden), bias: bias(features) },
    out: { weight: make([hidden, features], features), bias: bias(hidden) },
    gated: { weight: make([2 * intermediate, hidden], hidden) },
    down: { weight: make([hidden, intermediate], intermediate), bias: bias(hidden) },
  }))
  const ids = streamIds(rows)
  const chain = ops =>
    scope(() => {
      let { residual, normed } = ops.begin(ids, { table, norm: norms[0] })
      for (const [i, { plain, out, gated, down }] of layers.entries()) {
        normed = ops.stream(ops.plain(normed, plain), { ...out, residual, norm: norms[2 * i + 1] })
        normed = ops.stream(ops.gated(normed, gated), { ...down, residual, norm: norms[2 * i + 2] })
      }
      return [residual, ops.end(normed)]
    })
  const ops = kernels(rows)
  const waiting = Object.fromEntries(
    Object.entries(ops).map(([name, part]) => [
      name,
      (...given) => {
        const made = part(...given)
        ids.amax().item() // comes after the part, and is waited for
        return made
      },
    ]),
  )
  const program = record([], () => chain(ops))
  const graph = await program.capture([])
  const same = (name, found, expected) => {
    for (const [i, value] of found.entries())
      checks.is(`${label} ${name} ${i} has the same bits`, value.equal(expected[i]))
  }
  for (let time = 0; time < 5; time++) {
    ids.copy_(streamIds(rows))
    const expected = chain(waiting)
    checks.is(`${label} has a result`, Number.isFinite(expected[1].cast('float32').abs().sum().item()))
    same(`eager ${time}`, chain(ops), expected)
    same(`program ${time}`, await program.run(), expected)
    for (const output of graph.outputs) output.fill_(Number.NaN)
    graph.replay()
    await synchronize()
    same(`graph ${time}`, graph.outputs, expected)
  }
  graph.dispose()
  program.dispose()
}

async function checkStreams(checks) {
  const device = backend().cuda.devices[0]
  const decoder = { hidden: 896, intermediate: 4864, heads: 14, kvHeads: 2, headDim: 64 }
  if (!skinnyGemmFits(1, decoder, 'bfloat16', device)) {
    console.log(`projections that stream are for compute capability 9.0, not ${device.capability}: not checked`)
    return
  }
  const blocks = device.multiprocessors
  const kernels = skinnyGemmKernels(EPS, blocks)
  const planned = (name, shape) => {
    const product = streamCases[name].product?.(shape)
    return !product || planSkinnyGemm(name, { rows: shape.rows, ...product, blocks }) !== undefined
  }
  const shapes = [
    { hidden: 896, intermediate: 4864, features: 1152, biased: true },
    { hidden: 128, intermediate: 328, features: 136, biased: false },
    { hidden: 72, intermediate: 40, features: 8, biased: true },
  ].flatMap(shape => [4, 8, 33, 64, 96, 128, 200, 256].map(rows => ({ ...shape, rows })))
  shapes.push({ hidden: 2048, intermediate: 8192, features: 3072, biased: false, rows: 48 })
  for (const shape of shapes) {
    const possible = Object.keys(streamCases).filter(name => planned(name, shape))
    for (const name of possible)
      await checks.try(`stream ${name} ${JSON.stringify(shape)}`, () => checkStream(checks, kernels, name, shape))
    if (possible.length === Object.keys(streamCases).length)
      await checks.try(`stream chain ${JSON.stringify(shape)}`, () => checkStreamChain(checks, kernels, shape))
  }
}

/** Gates and ups of many rows in one kernel: those of libtorch's product and ours behind it, but for the order of sums. */
async function checkGatedLinear(checks) {
  const device = backend().cuda.devices[0]
  if (Math.floor(Number(device.capability)) !== 9) {
    console.log(`SwiGLU inside its product is for compute capability 9.0, not ${device.capability}: not checked`)
    return
  }
  const gated = gatedLinearKernel(device.multiprocessors)
  const { swiglu } = fusedOps({ device: 'cuda', dtype: 'bfloat16' })
  const sizes = [
    [3000, 896, 4864],
    [33000, 896, 4864],
    [1, 64, 8],
    [130, 136, 328],
    [1500, 2048, 8192],
  ]
  for (const [rows, hidden, intermediate] of sizes) {
    const label = `SwiGLU of ${rows} rows, ${hidden} to ${intermediate}`
    await checks.try(label, async () => {
      const [x, weight] = [streamMake([rows, hidden]), streamMake([2 * intermediate, hidden], hidden)]
      const expected = scope(() => swiglu(linear(x, weight)))
      poison([expected])
      const first = gated(x, weight)
      const worst = scope(() => {
        const [a, b] = [first, expected].map(tensor => tensor.cast('float32'))
        return a.sub(b).abs().amax().item() / b.abs().amax().item()
      })
      checks.is(label, worst < tolerance.bfloat16, `error ${worst} of the largest`)
      const program = record(['tensor'], given => gated(given, weight))
      for (const found of [gated(x, weight), await program.run(x)])
        checks.is(`${label} has the same bits`, found.equal(first))
      program.dispose()
    })
  }
}

export async function run() {
  const checks = new Checks()
  manualSeed(Date.now())
  for (const name of Object.keys(cases))
    for (const dtype of ['float32', 'float16', 'bfloat16'])
      for (const shape of cases[name].shapes)
        await checks.try(`${name} ${dtype} [${shape}]`, () => check(checks, name, dtype, shape))
  await checkStreams(checks)
  await checkGatedLinear(checks)

  const ops = fusedOps({ device: 'cuda', dtype: 'bfloat16' })
  const half = shape => Tensor.empty(shape, { dtype: 'bfloat16', device: 'cuda' }).fill_(1)
  const weight = half([64])
  await checks.throws('rows of another size are refused', () => ops.rmsNorm(half([2, 32]), weight, EPS), /shape|size/)
  await checks.throws(
    'a residual of another size',
    () => ops.addRmsNorm(half([2, 64]), half([3, 64]), weight, EPS),
    /shape/,
  )
  await checks.throws('another dtype', () => ops.rmsNorm(half([2, 64]).cast('float32'), weight, EPS), /BFloat16/)
  await checks.throws(
    'a weight of another dtype',
    () => ops.rmsNorm(half([2, 64]), weight.cast('float32'), EPS),
    /bfloat16/,
  )
  await checks.throws('an odd projection', () => ops.swiglu(half([2, 33])), /unflatten/)
  const expanded = half([1, 64]).expand([5, 64])
  checks.is('an expanded input', ops.rmsNorm(expanded, weight, EPS).cast('float32').amax([0, 1]).item() === 1)
  const spread = half([3, 128])
  spread.requiresGrad = true
  ops.swiglu(spread).sum().backward() // arrives as one number, expanded
  const slope = spread.grad.cast('float32').at(0, 0).item()
  checks.is('a gradient that was expanded', Math.abs(slope - 0.9277) < 0.01, `${slope}`)
  return { right: checks.report(), kept: true }
}
