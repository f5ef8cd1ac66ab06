/**
 * Bytes the fused kernels must move (each input read once, each output written once) over the time they take, beside a copy
 * on the same device. Several sets of tensors in turn, together far larger than the cache; launches come from a graph.
 */

import { customFunction, memoryUse, randn, record, Tensor } from 'whetstone/tensor'
import { fusedOps } from '#whetstone/kernels'
import { printTable } from '../harness.mjs'
import { deviceTime } from './timing.mjs'

const ROWS = 16384
const SETS = 4
const EPS = 1e-6
const device = 'cuda'
const dtype = 'bfloat16'
const BYTES = 2

/** @param {readonly number[]} shape */
const make = shape => randn(shape, { device }).cast(dtype)

/** Seconds of one `work`, of which the program does SETS on different memory. @param {(set: number) => readonly Tensor[]} work */
async function timeOf(work) {
  const program = record([], () => Array.from({ length: SETS }, (_, i) => work(i)).flat())
  const graph = await program.capture([], { warmups: 2 })
  const seconds = (await deviceTime(() => graph.replay())) / SETS
  program.dispose()
  return seconds
}

/** Where the gradients of `outputs` come from without a kernel that moves as many bytes as the one measured. @param {number} count */
const arrive = count =>
  customFunction({
    inputs: Array.from({ length: 2 * count }, () => /** @type {const} */ ('tensor')),
    forward: (...values) => ({ outputs: values[0].newEmpty([1]), saved: values.slice(count) }),
    backward: ({ saved }) => [...saved, ...saved.map(() => null)],
  })

/**
 * Forward alone, and forward with backward; the difference is the backward.
 *
 * @param {(set: Tensor[]) => readonly Tensor[]} call
 * @param {Tensor[][]} given
 * @param {Tensor[][]} arriving
 */
async function pair(call, given, arriving) {
  for (const set of given) set[0].requiresGrad = true
  const start = arrive(arriving[0].length)
  const one = make([1])
  const forward = await timeOf(i => call(given[i]))
  const whole = await timeOf(i => {
    for (const t of given[i]) t.grad = undefined
    const out = call(given[i])
    const loss = /** @type {Tensor} */ (start(...out, ...arriving[i]))
    loss.backward(one)
    return [...out, /** @type {Tensor} */ (given[i][0].grad)]
  })
  return { forward, backward: whole - forward }
}

/** @typedef {(ops: import('#whetstone/kernels').FusedOps) => (set: Tensor[]) => readonly Tensor[]} Call */

export async function run() {
  /** @param {number[][]} shapes */
  const sets = shapes => Array.from({ length: SETS }, () => shapes.map(make))
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []

  const source = Tensor.empty([2 ** 31], { dtype: 'uint8', device }).fill_(1)
  const target = Tensor.empty([2 ** 31], { dtype: 'uint8', device })
  const copySeconds = await deviceTime(() => target.copy_(source))
  const copy = (2 * 2 ** 31) / copySeconds
  source.dispose()
  target.dispose()
  /** @param {number} bandwidth */
  const show = bandwidth => `${(bandwidth / 1e12).toFixed(2)} TB/s`
  console.log(`copy of 2 GiB: ${show(copy)}, counting bytes read and written\n`)

  /** @param {string} name @param {number} bytes @param {number} seconds @param {number} other @param {number} least */
  const add = (name, bytes, seconds, other, least) => {
    const bandwidth = bytes / seconds
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
  const composed = fusedOps({ device: 'cpu', dtype }) // its operators run wherever their tensors are
  for (const hidden of [896, 4096]) {
    const shape = [ROWS, hidden]
    const given = sets([shape, shape, [hidden]])
    for (const set of given) set[2].requiresGrad = true
    const arriving = sets([shape, shape])
    /** @type {Call} */
    const call = ops => set => ops.addRmsNorm(set[0], set[1], set[2], EPS)
    const fused = await pair(call(ops), given, arriving)
    const other = await pair(call(composed), given, arriving)
    add(`add + RMSNorm ${hidden}, forward`, 4 * ROWS * hidden * BYTES, fused.forward, other.forward, 0.8)
    add(`add + RMSNorm ${hidden}, backward`, 4 * ROWS * hidden * BYTES, fused.backward, other.backward, 0.6)
    for (const t of [...given, ...arriving].flat()) t.dispose()
  }
  for (const intermediate of [4864]) {
    const given = sets([[ROWS, 2 * intermediate]])
    const arriving = sets([[ROWS, intermediate]])
    /** @type {Call} */
    const call = ops => set => [ops.swiglu(set[0])]
    const fused = await pair(call(ops), given, arriving)
    const other = await pair(call(composed), given, arriving)
    add(`SwiGLU ${intermediate}, forward`, 3 * ROWS * intermediate * BYTES, fused.forward, other.forward, 0.8)
    add(`SwiGLU ${intermediate}, backward`, 5 * ROWS * intermediate * BYTES, fused.backward, other.backward, 0.8)
    for (const t of [...given, ...arriving].flat()) t.dispose()
  }
  const kept = printTable([`${ROWS} rows, ${dtype}`, 'time', 'bandwidth', 'of copy', 'as operators'], rows)
  console.log(`\npeak memory ${(memoryUse(device).peakBytes / 2 ** 30).toFixed(1)} GiB`)
  return kept
}
