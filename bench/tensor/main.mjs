/**
 * What a tensor operation costs here, beside Python's torch and beside libtorch alone, measured in turns in one run.
 *
 *   npm run bench:tensor              the table
 *   npm run bench:tensor -- --check   the same, and exit code 1 when a promise is not kept
 *   npm run bench:tensor -- program   only the rows with this in their name
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { AdamW, backend, linear, randint, randn, record, scope, Tensor, threads } from 'whetstone/tensor'
import { inTurns, printTable, startFloor, startPython, time } from '../harness.mjs'

const THREADS = 2
const LINKS = 1000
const only = process.argv.slice(2).find(word => !word.startsWith('--')) ?? ''
/** @param {string} name */
const beside = name => fileURLToPath(new URL(name, import.meta.url))

threads(THREADS)
const python = startPython(beside('peer.py'))
const floor = startFloor(beside('floor.cc'), 'bench-tensor-floor')

const { libtorchVersion } = backend()
const peerVersion = await python?.ask('version')
console.log(
  `Node ${process.versions.node}, libtorch ${libtorchVersion}, Python torch ${peerVersion ?? 'absent'}, float32, ${THREADS} threads on each side\n`,
)

/** @type {import('../harness.mjs').Row[]} */
const rows = []

/** @typedef {number | undefined} Seconds */
/** @param {Seconds} seconds */
const us = seconds => (seconds === undefined ? '-' : `${(seconds * 1e6).toFixed(2)} us`)
/** @param {Seconds} seconds */
const ms = seconds => (seconds === undefined ? '-' : `${(seconds * 1e3).toFixed(2)} ms`)
/** @type {(bytes: number) => (seconds: Seconds) => string} */
const gigabytes = bytes => seconds => (seconds === undefined ? '-' : `${(bytes / seconds / 1e9).toFixed(1)} GB/s`)
/** @param {Seconds} seconds */
const perSecond = seconds => (seconds === undefined ? '-' : `${Math.round(1 / seconds)} /s`)

/** @typedef {{ ours: number, python: Seconds, floor: Seconds }} Found */

/** Whetstone over Python, in time: below 1 is faster. @param {Found} found */
const ratio = ({ ours, python }) => (python === undefined ? '-' : `${(ours / python).toFixed(2)}`)

/** @param {string} text @param {Seconds} value @param {number} limit @returns {import('../harness.mjs').Target} */
function atMost(text, value, limit) {
  return { text, holds: value === undefined || Number.isNaN(value) ? undefined : value <= limit }
}

/**
 * Measures a row in turns and puts it into the table.
 *
 * @param {string} name
 * @param {{
 *   work: () => unknown, per?: number, peer?: string, show: (seconds: Seconds) => string,
 *   promise?: (found: Found) => import('../harness.mjs').Target[], seconds?: number
 * }} options
 */
async function row(name, { work, per = 1, peer, show, promise = () => [], seconds = 0.1 }) {
  if (!name.includes(only)) return
  const found = await inTurns(
    {
      ours: async () => (await time(work, seconds)) / per,
      python: python && peer ? () => python.measure(peer) : undefined,
      floor: floor && peer ? () => floor.measure(peer) : undefined,
    },
    10,
  )
  const cells = [show(found.ours), show(found.python), show(found.floor), ratio(found)]
  rows.push({ name, cells, targets: promise(found) })
}

// ---- eager calls, each tensor freed

const a = Tensor.from([
  [1, 1, 1],
  [1, 1, 1],
])
const b = Tensor.from([
  [1, 1, 1],
  [1, 1, 1],
])
const withGrad = Tensor.from(
  [
    [1, 1, 1],
    [1, 1, 1],
  ],
  { requiresGrad: true },
)

/** @param {Found} found */
const noSlower = ({ ours, python }) => [atMost('no slower than Python', ours / (python ?? Number.NaN), 1)]
/** @param {() => unknown} body */
const hundred = body => () =>
  scope(() => {
    for (let i = 0; i < 100; i++) body()
  })
await row('eager add', { work: hundred(() => a.add(b)), per: 100, peer: 'add', show: us, promise: noSlower })
await row('eager view', { work: hundred(() => a.view([3, 2])), per: 100, peer: 'view', show: us, promise: noSlower })
await row('eager add, with grad', {
  work: hundred(() => withGrad.add(b)),
  per: 100,
  peer: 'add+grad',
  show: us,
  promise: noSlower,
})
await row('eager view, with grad', {
  work: hundred(() => withGrad.view([3, 2])),
  per: 100,
  peer: 'view+grad',
  show: us,
  promise: noSlower,
})
await row('eager add, without a scope, disposed', { work: () => a.add(b).dispose(), peer: 'add', show: us })

// ---- operators inside a program

const addChain = record(['tensor'], first => {
  let x = first
  for (let i = 0; i < LINKS; i++) x = x.add(b)
  return x
})
const viewChain = record(['tensor'], first => {
  let x = first
  for (let i = 0; i < LINKS; i++) x = x.view([3, 2])
  return x
})
/** @param {Found} found */
const nearFloor = ({ ours, floor }) => atMost('0.2 us above libtorch at most', ours - (floor ?? Number.NaN), 0.2e-6)
/** @param {Found} found */
const ahead = ({ ours, python }) => atMost('1.5x faster than Python', ours / (python ?? Number.NaN), 1 / 1.5)
/** @param {Found} found */
const both = found => [nearFloor(found), ahead(found)]
for (const [kind, program] of Object.entries({ add: addChain, view: viewChain })) {
  await row(`${kind} in a program, call()`, {
    work: () => program.call(a).dispose(),
    per: LINKS,
    peer: `${kind} chain`,
    show: us,
    promise: both,
  })
  await row(`${kind} in a program, run()`, {
    work: async () => (await program.run(a)).dispose(),
    per: LINKS,
    peer: `${kind} chain`,
    show: us,
    promise: both,
  })
  await row(`${kind} in a program, with grad`, {
    work: () => program.call(withGrad).dispose(),
    per: LINKS,
    peer: `${kind} chain+grad`,
    show: us,
    promise: found => [nearFloor(found)],
  })
}

// ---- arithmetic

const left = randn([1024, 1024])
const right = randn([1024, 1024])
await row('matrix product 1024 x 1024 x 1024', {
  work: () => left.matmul(right).dispose(),
  peer: 'matmul',
  show: ms,
  seconds: 0.2,
  promise: ({ ours, python }) => [atMost('within 5 % of Python', ours / (python ?? Number.NaN), 1.05)],
})

// ---- typed arrays

const values = new Float32Array(1 << 22)
const target = new Float32Array(1 << 22)
const large = Tensor.from(values)
const rate = gigabytes(values.byteLength)
await row('tensor from a 16 MB Float32Array', { work: () => Tensor.from(values).dispose(), peer: 'create', show: rate })
await row('tensor read into a 16 MB Float32Array', { work: () => large.read(target), peer: 'read', show: rate })

// ---- training

/** @param {number[]} shape @param {number} fanIn */
const uniform = (shape, fanIn) => randn(shape).mul(1 / Math.sqrt(3 * fanIn))
const w1 = uniform([128, 64], 64)
const b1 = uniform([128], 64)
const w2 = uniform([10, 128], 128)
const b2 = uniform([10], 128)
const parameters = new Map(Object.entries({ w1, b1, w2, b2 }))
for (const parameter of parameters.values()) parameter.requiresGrad = true
const optimizer = new AdamW([{ parameters, lr: 1e-3, weightDecay: 0.01 }])
const x = randn([32, 64])
const y = randint(0, 10, [32], { dtype: 'int64' })
/** @param {Tensor} inputs @param {Tensor} labels */
const backward = (inputs, labels) =>
  linear(linear(inputs, w1, b1).relu(), w2, b2)
    .crossEntropyLoss(labels)
    .backward()
const recorded = record(['tensor', 'tensor'], (inputs, labels) => backward(inputs, labels))
/** @param {() => unknown} forwardBackward */
const step = async forwardBackward => {
  optimizer.zeroGrad()
  await forwardBackward()
  await optimizer.step({ clipNorm: 1 })
}
const eager = () => step(() => scope(() => backward(x, y)))
const inProgram = () => step(() => recorded.run(x, y))
for (const [name, work] of Object.entries({ eager, recorded: inProgram }))
  await row(`training step (two layers, AdamW), ${name}`, { work, peer: 'train', show: perSecond, seconds: 0.2 })

// ---- what only this side has

await row('recording an operator', {
  work: () =>
    record(['tensor'], first => {
      let value = first
      for (let i = 0; i < 100; i++) value = value.add(b)
      return value
    }).dispose(),
  per: 100,
  show: us,
})
await row('an empty scope', { work: () => scope(() => undefined), show: us })

// ---- the event loop while a program computes

const products = record(['tensor'], first => {
  let value = first
  for (let i = 0; i < 20; i++) value = value.matmul(right)
  return value
})
async function worstDelay() {
  const one = await time(async () => (await products.run(left)).dispose(), 0)
  const runs = Math.max(1, Math.round(2 / one))
  const long = record(['tensor'], first => {
    let value = first
    for (let i = 0; i < runs * 20; i++) value = value.matmul(right)
    return value
  })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const running = long.run(left)
  delay.enable()
  const result = await running
  delay.disable()
  result.dispose()
  long.dispose()
  return delay.percentile(99) / 1e9
}
const delayRow = 'event-loop delay p99 while a program computes 2 s'
if (delayRow.includes(only)) {
  const { p99 } = await inTurns({ p99: worstDelay }, 3)
  rows.push({ name: delayRow, cells: [ms(p99), '-', '-', '-'], targets: [atMost('under 5 ms', p99, 5e-3)] })
}

python?.close()
floor?.close()
const kept = printTable(['', 'Whetstone', 'Python torch', 'libtorch alone', 'time / Python'], rows)
if (!kept && process.argv.includes('--check')) process.exitCode = 1
