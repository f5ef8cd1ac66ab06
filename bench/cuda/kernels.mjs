/**
 * The fused kernels against their twins in float64 on the CPU: every dtype, odd numbers of rows, fresh random inputs, memory
 * that held NaN before. Eager, in a program and in a replayed graph give the same bits, every time.
 */
import { fusedOps, gradients, manualSeed, randn, record, scope, synchronize, Tensor } from '../../dist/tensor/index.js'
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

export async function run() {
  const checks = new Checks()
  manualSeed(Date.now())
  for (const name of Object.keys(cases))
    for (const dtype of ['float32', 'float16', 'bfloat16'])
      for (const shape of cases[name].shapes)
        await checks.try(`${name} ${dtype} [${shape}]`, () => check(checks, name, dtype, shape))

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
