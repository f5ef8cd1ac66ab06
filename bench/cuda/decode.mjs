/**
 * One decode step of a Qwen2.5-0.5B shape out of plain operators, as peer.py does it: eagerly, as a program, as a graph.
 */
import { fileURLToPath } from 'node:url'
import {
  cat,
  embedding,
  linear,
  noGrad,
  randint,
  randn,
  record,
  rmsNorm,
  scaledDotProductAttention,
  scope,
  synchronize,
  Tensor,
} from '../../dist/tensor/index.js'
import { inTurns, printTable, startPython } from '../harness.mjs'
import { deviceTime } from './timing.mjs'

const shape = { layers: 24, hidden: 896, heads: 14, kvHeads: 2, dim: 64, inner: 4864, vocab: 151936, context: 256 }
const EPS = 1e-6
const device = 'cuda'
const dtype = 'bfloat16'

const random = (...size) => scope(() => randn(size, { device }).mul(0.02).cast(dtype))
const ones = (...size) => Tensor.empty(size, { device, dtype }).fill_(1)

function makeModel() {
  const { layers, hidden, heads, kvHeads, dim, inner, vocab } = shape
  return {
    embed: random(vocab, hidden),
    norm: ones(hidden),
    cos: random(1, 1, 1, dim),
    sin: random(1, 1, 1, dim),
    layers: Array.from({ length: layers }, () => ({
      norm1: ones(hidden),
      q: random(heads * dim, hidden),
      qBias: random(heads * dim),
      k: random(kvHeads * dim, hidden),
      kBias: random(kvHeads * dim),
      v: random(kvHeads * dim, hidden),
      vBias: random(kvHeads * dim),
      o: random(hidden, heads * dim),
      norm2: ones(hidden),
      gate: random(inner, hidden),
      up: random(inner, hidden),
      down: random(hidden, inner),
    })),
  }
}

function rotate(x, cos, sin) {
  const [a, b] = x.chunk(2, -1)
  return x.mul(cos).add(cat([b.neg(), a], -1).mul(sin))
}

/** Token ids `[batch]` and the position `[1]` to the next ids `[batch]`; keys and values are written to the cache. */
function step(model, cache, batch, ids, position) {
  const { hidden, heads, kvHeads, dim } = shape
  let x = embedding(model.embed, ids)
  for (const [i, w] of model.layers.entries()) {
    const { keys, values } = cache[i]
    const n = rmsNorm(x, [hidden], w.norm1, EPS)
    const q = linear(n, w.q, w.qBias).view([batch, heads, 1, dim])
    const k = linear(n, w.k, w.kBias).view([batch, kvHeads, 1, dim])
    const v = linear(n, w.v, w.vBias).view([batch, kvHeads, 1, dim])
    keys.indexCopy_(2, position, rotate(k, model.cos, model.sin))
    values.indexCopy_(2, position, v)
    const turned = rotate(q, model.cos, model.sin)
    const mixed = scaledDotProductAttention(turned, keys, values, null, 0, { enableGqa: true })
    x = x.add(linear(mixed.view([batch, hidden]), w.o))
    const m = rmsNorm(x, [hidden], w.norm2, EPS)
    x = x.add(linear(linear(m, w.gate).silu().mul(linear(m, w.up)), w.down))
  }
  return linear(rmsNorm(x, [hidden], model.norm, EPS), model.embed).argmax(-1)
}

export async function run() {
  const python = startPython(fileURLToPath(new URL('peer.py', import.meta.url)))
  const peerVersion = await python?.ask('version')
  console.log(`Python torch: ${peerVersion ?? 'absent, or without CUDA'}\n`)
  const model = makeModel()
  const rows = []
  let right = true
  const show = seconds => (seconds === undefined ? '-' : `${(seconds * 1e3).toFixed(3)} ms`)
  const over = (a, b) => (a === undefined || b === undefined ? Number.NaN : a / b)
  const ratio = value => (Number.isNaN(value) ? '-' : value.toFixed(3))

  for (const batch of [64, 256, 1024]) {
    const { kvHeads, dim, context, layers, vocab } = shape
    const cache = Array.from({ length: layers }, () => ({
      keys: random(batch, kvHeads, context, dim),
      values: random(batch, kvHeads, context, dim),
    }))
    const ids = randint(0, vocab, [batch], { device, dtype: 'int64' })
    const position = Tensor.from([BigInt(context - 1)], { device })
    const eager = () => noGrad(() => scope(() => step(model, cache, batch, ids, position).dispose()))
    const program = record(['tensor', 'tensor'], (ids, position) => step(model, cache, batch, ids, position))
    const runProgram = async () => (await program.run(ids, position)).dispose()
    const graph = await program.capture([ids, position])

    const expected = noGrad(() => scope(() => step(model, cache, batch, ids, position)))
    graph.replay()
    await synchronize()
    const same = graph.outputs.equal(expected) && (await program.run(ids, position)).equal(expected)
    if (!same) console.log(`batch ${batch}: the program or the graph gives other tokens than the eager step`)
    right &&= same

    const ask = what => (python ? () => python.ask(`${what} ${batch}`) : undefined)
    const found = await inTurns(
      {
        eager: () => deviceTime(eager, 0.2, 3),
        python: ask('eager'),
        program: () => deviceTime(runProgram, 0.2, 3),
        graph: () => deviceTime(() => graph.replay(), 0.2, 3),
        pythonGraph: ask('graph'),
      },
      3,
    )
    const eagerRatio = over(found.eager, found.python)
    const graphRatio = over(found.graph, found.pythonGraph)
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
  return { right, kept: printTable(head, rows) }
}
