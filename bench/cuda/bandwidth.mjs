/**
 * Bytes the fused kernels must move (each input read once, each output written once) over the time they take, beside a copy
 * on the same device. Several sets of tensors in turn, together far larger than the cache; launches come from a graph.
 */
import { customFunction, fusedOps, memoryUse, randn, record, Tensor } from '../../dist/tensor/index.js'
import { printTable } from '../harness.mjs'
import { deviceTime } from './timing.mjs'

const ROWS = 16384
const SETS = 4
const EPS = 1e-6
const device = 'cuda'
const dtype = 'bfloat16'
const BYTES = 2

const make = shape => randn(shape, { device }).cast(dtype)

/** Seconds of one `work`, of which the program does SETS on different memory. */
async function timeOf(inputs, work) {
  const program = record(
    inputs.map(() => 'tensor'),
    () => Array.from({ length: SETS }, (_, i) => work(i)).flat(),
  )
  const graph = await program.capture(inputs, { warmups: 2 })
  const seconds = (await deviceTime(() => graph.replay())) / SETS
  program.dispose()
  return seconds
}

/** Where the gradients of `outputs` come from without a kernel that moves as many bytes as the one measured. */
const arrive = count =>
  customFunction({
    inputs: [...Array(2 * count).fill('tensor')],
    forward: (...values) => ({ outputs: values[0].newEmpty([1]), saved: values.slice(count) }),
    backward: ({ saved }) => [...saved, ...saved.map(() => null)],
  })

/** Forward alone, and forward with backward; the difference is the backward. */
async function pair(call, given, arriving, wants) {
  for (const set of given) set[0].requiresGrad = wants
  const start = arrive(arriving[0].length)
  const one = make([1])
  const forward = await timeOf([], i => call(given[i]))
  if (!wants) return { forward }
  const whole = await timeOf([], i => {
    for (const t of given[i]) t.grad = undefined
    const out = call(given[i])
    start(...out, ...arriving[i]).backward(one)
    return [...out, given[i][0].grad]
  })
  return { forward, backward: whole - forward }
}

export async function run() {
  const sets = shapes => Array.from({ length: SETS }, () => shapes.map(make))
  const rows = []

  const source = Tensor.empty([2 ** 31], { dtype: 'uint8', device }).fill_(1)
  const target = Tensor.empty([2 ** 31], { dtype: 'uint8', device })
  const copySeconds = await deviceTime(() => target.copy_(source))
  const copy = (2 * 2 ** 31) / copySeconds
  source.dispose()
  target.dispose()
  const show = bandwidth => `${(bandwidth / 1e12).toFixed(2)} TB/s`
  console.log(`copy of 2 GiB: ${show(copy)}, counting bytes read and written\n`)

  const add = (name, tensors, elements, seconds, other, least) => {
    const bandwidth = (tensors * elements * BYTES) / seconds
    const share = bandwidth / copy
    rows.push({
      name,
      cells: [
        `${(seconds * 1e6).toFixed(1)} us`,
        show(bandwidth),
        `${(100 * share).toFixed(0)} %`,
        `${(other * 1e6).toFixed(0)} us`,
      ],
      targets: [{ text: `at least ${100 * least} %`, holds: share >= least }],
    })
  }

  const ops = fusedOps({ device, dtype })
  const reference = fusedOps({ device: 'cpu', dtype }) // its operators run wherever their tensors are
  for (const hidden of [896, 4096]) {
    const shape = [ROWS, hidden]
    const given = sets([shape, shape, [hidden]])
    for (const set of given) set[2].requiresGrad = true
    const arriving = sets([shape, shape])
    const call = ops => set => ops.addRmsNorm(set[0], set[1], set[2], EPS)
    const fused = await pair(call(ops), given, arriving, true)
    const other = await pair(call(reference), given, arriving, true)
    add(`add + RMSNorm ${hidden}, forward`, 4, ROWS * hidden, fused.forward, other.forward, 0.8)
    add(`add + RMSNorm ${hidden}, backward`, 4, ROWS * hidden, fused.backward, other.backward, 0.6)
    for (const t of [...given, ...arriving].flat()) t.dispose()
  }
  for (const intermediate of [4864]) {
    const given = sets([[ROWS, 2 * intermediate]])
    const arriving = sets([[ROWS, intermediate]])
    const call = ops => set => [ops.swiglu(set[0])]
    const fused = await pair(call(ops), given, arriving, true)
    const other = await pair(call(reference), given, arriving, true)
    add(`SwiGLU ${intermediate}, forward`, 3, ROWS * intermediate, fused.forward, other.forward, 0.8)
    add(`SwiGLU ${intermediate}, backward`, 5, ROWS * intermediate, fused.backward, other.backward, 0.8)
    for (const t of [...given, ...arriving].flat()) t.dispose()
  }
  const kept = printTable([`${ROWS} rows, ${dtype}`, 'time', 'bandwidth', 'of copy', 'as operators'], rows)
  console.log(`\npeak memory ${(memoryUse(device).peakBytes / 2 ** 30).toFixed(1)} GiB`)
  return { right: true, kept }
}
