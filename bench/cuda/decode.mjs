/** One decode step (step.mjs) eagerly, as a program and as a graph, beside Python's torch eagerly and as a graph. */
import { fileURLToPath } from 'node:url'
import { noGrad, randint, record, scope, Tensor } from 'whetstone/tensor'
import { inTurns, printTable, startPython } from '../harness.mjs'
import { makeCache, makeModel, shape, step } from './step.mjs'
import { deviceTime } from './timing.mjs'

const device = 'cuda'

export async function run() {
  const python = startPython(fileURLToPath(new URL('peer.py', import.meta.url)))
  const peerVersion = await python?.ask('version')
  console.log(`Python torch: ${peerVersion ?? 'absent, or without CUDA'}\n`)
  const model = makeModel()
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []
  /** @param {number | undefined} seconds */
  const show = seconds => (seconds === undefined ? '-' : `${(seconds * 1e3).toFixed(3)} ms`)
  /** @param {number | undefined} a @param {number | undefined} b */
  const over = (a, b) => (a === undefined || b === undefined ? Number.NaN : a / b)
  /** @param {number} value */
  const ratio = value => (Number.isNaN(value) ? '-' : value.toFixed(3))

  for (const batch of [64, 256, 1024]) {
    const cache = makeCache(batch)
    const ids = randint(0, shape.vocab, [batch], { device, dtype: 'int64' })
    const position = Tensor.from([BigInt(shape.context - 1)], { device })
    const eagerly = () => noGrad(() => scope(() => step(model, cache, batch, ids, position)))
    const program = record(['tensor', 'tensor'], (ids, position) => step(model, cache, batch, ids, position))
    const graph = await program.capture([ids, position])

    /** @param {string} what */
    const ask = what => (python ? () => python.measure(`${what} ${batch}`) : undefined)
    const found = await inTurns(
      {
        eager: () => deviceTime(() => eagerly().dispose()),
        python: ask('eager'),
        program: () => deviceTime(async () => (await program.run(ids, position)).dispose()),
        graph: () => deviceTime(() => graph.replay()),
        pythonGraph: ask('graph'),
      },
      5,
    )
    const eagerRatio = over(found.eager, found.python)
    const graphRatio = over(found.graph, found.pythonGraph)
    /** @param {string} text @param {number} value @param {number} limit */
    const promise = (text, value, limit) => ({ text, holds: Number.isNaN(value) ? undefined : value <= limit })
    rows.push({
      name: `batch ${batch}`,
      cells: [
        ...[found.eager, found.python].map(show),
        ratio(eagerRatio),
        ...[found.program, found.graph, found.pythonGraph].map(show),
        ratio(graphRatio),
        `${Math.round(batch / found.graph / 1e3)}k`,
      ],
      targets: [
        promise('eager no slower than Python', eagerRatio, 1),
        promise("graph within 2 % of Python's", graphRatio, 1.02),
      ],
    })
    graph.dispose()
    program.dispose()
    for (const { keys, values } of cache) {
      keys.dispose()
      values.dispose()
    }
  }
  python?.close()
  const head = ['24 layers', 'eager', 'Python', 'ratio', 'program', 'graph', 'Python graph', 'ratio', 'tokens/s']
  return printTable(head, rows)
}
