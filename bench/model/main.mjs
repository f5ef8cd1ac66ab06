/**
 * Scoring and training of small models on the CPU, against transformers in the same run.
 *
 *   npm run bench:model [-- --check] [-- --model 2m]
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { LocalModel, parseConfig } from 'whetstone/model'
import { backend, linear, memoryUse, noGrad, randn, scope, threads } from 'whetstone/tensor'
import { inTurns, printTable, startPython } from '../harness.mjs'

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, model: { type: 'string' }, rounds: { type: 'string' } },
})
/**
 * @typedef {{
 *   vocab_size: number, hidden_size: number, intermediate_size: number, num_hidden_layers: number,
 *   num_attention_heads: number, num_key_value_heads: number, batch: number
 * }} Shape
 * @type {Record<string, Shape>}
 */
const shapes = JSON.parse(readFileSync(new URL('./shapes.json', import.meta.url), 'utf8'))
const rounds = Number(options.rounds ?? 3)
threads(2)

/** A generator of its own, so that both sides and every run have the same lengths. @param {number} seed */
function mulberry(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** @param {string} name */
const workloads = name => {
  const random = mulberry(7)
  const { batch } = shapes[name]
  return {
    equal: Array.from({ length: batch }, () => 128),
    ragged: Array.from({ length: batch }, () => 16 + Math.floor(random() * 241)),
  }
}

/** @param {string} name */
async function makeModel(name) {
  const { batch: _, ...shape } = shapes[name]
  const config = parseConfig(
    {
      architectures: ['Qwen2ForCausalLM'],
      ...shape,
      max_position_embeddings: 512,
      tie_word_embeddings: true,
      rope_theta: 1e6,
    },
    'config.json',
  )
  return LocalModel.create(config, { role: 'language', seed: 1 })
}

/** @param {string} name @param {number[]} lengths */
function makeSequences(name, lengths) {
  const random = mulberry(11)
  return lengths.map(n => Int32Array.from({ length: n }, () => Math.floor(random() * shapes[name].vocab_size)))
}

/** @type {Record<'forward' | 'train', (model: LocalModel<'language'>, sequences: Int32Array[]) => Promise<unknown>>} */
const passes = {
  forward: (model, sequences) => model.score(sequences),
  train: async (model, sequences) => {
    const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0)
    await model.forwardBackward(sequences, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) })),
    )
    await model.step({ lr: 1e-4, clipNorm: 1 })
  },
}

/** Seconds of the model's matrix products alone, at the sizes they have: what no engine on this library can beat. @param {string} name @param {number[]} lengths */
async function productSeconds(name, lengths) {
  const {
    hidden_size: h,
    intermediate_size: i,
    num_hidden_layers: layers,
    vocab_size: v,
    num_attention_heads: heads,
    num_key_value_heads: kv,
  } = shapes[name]
  const rows = lengths.reduce((sum, n) => sum + n, 0)
  const qkv = (h * (heads + 2 * kv)) / heads
  const sizes = [[h, qkv, layers], [h, h, layers], [h, 2 * i, layers], [i, h, layers], [h, v, 1]] // biome-ignore format: a table
  let seconds = 0
  for (const [columns, out, times] of sizes)
    seconds += scope(() =>
      noGrad(() => {
        const x = randn([rows, columns])
        const w = randn([out, columns])
        linear(x, w).dispose()
        let best = Infinity
        for (let k = 0; k < 3; k++) {
          const start = performance.now()
          linear(x, w).dispose()
          best = Math.min(best, (performance.now() - start) / 1e3)
        }
        return best * times
      }),
    )
  return seconds
}

/** @param {() => Promise<unknown>} work */
async function seconds(work) {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1e3
}

const peer = startPython(new URL('./peer.py', import.meta.url).pathname)
/** @type {Record<string, Record<string, number>>} */
const targets = {
  '2m': { 'forward equal': 1.2, 'forward ragged': 2, 'train equal': 1.1, 'train ragged': 1.8 },
  '26m': { 'forward equal': 1.05, 'forward ragged': 1.7, 'train equal': 1.03, 'train ragged': 1.6 },
}
const { libtorchVersion } = backend()
console.log(
  `Qwen2 shapes, float32, 2 threads, libtorch ${libtorchVersion}, Node ${process.version}; best of ${rounds}\n`,
)
/** @type {import('../harness.mjs').Row[]} */
const rows = []
for (const name of Object.keys(targets).filter(name => !options.model || name === options.model)) {
  const model = await makeModel(name)
  for (const [pass, run] of Object.entries(passes)) {
    for (const [workload, lengths] of Object.entries(workloads(name))) {
      const tokens = lengths.reduce((sum, n) => sum + n, 0)
      const sequences = makeSequences(name, lengths)
      await run(model, sequences)
      const found = await inTurns(
        {
          ours: () => seconds(() => run(model, sequences)),
          peer: peer && (() => peer.measure(`${name} ${JSON.stringify(lengths)} ${pass}`)),
        },
        rounds,
      )
      const products = (await productSeconds(name, lengths)) * (pass === 'train' ? 3 : 1)
      /** @param {number | undefined} s */
      const rate = s => (s === undefined ? '-' : `${(tokens / s / 1e3).toFixed(2)}k tok/s`)
      const ratio = found.peer === undefined ? undefined : found.peer / found.ours
      const wanted = targets[name][`${pass} ${workload}`]
      rows.push({
        name: `${name} ${pass}, ${workload} lengths`,
        cells: [
          rate(found.ours),
          rate(found.peer),
          rate(products),
          ratio ? `${ratio.toFixed(2)}x` : '-',
          found.peer ? `${(found.peer / products).toFixed(2)}x` : '-',
        ],
        targets: [{ text: `>= ${wanted}x`, holds: ratio === undefined ? undefined : ratio >= wanted }],
      })
    }
  }
  model.dispose()
}
const kept = printTable(['work', 'Whetstone', 'transformers', 'products alone', 'ratio', 'ceiling'], rows)

if (!options.model) {
  const name = '2m-32k'
  const lengths = workloads(name).equal
  const model = await makeModel(name)
  await passes.train(model, makeSequences(name, [16, 16]))
  const before = memoryUse('cpu', { resetPeak: true }).bytes
  await passes.train(model, makeSequences(name, lengths))
  const ours = memoryUse().peakBytes - before
  const theirs = await startPython(new URL('./peer.py', import.meta.url).pathname)?.ask(
    `${name} ${JSON.stringify(lengths)} memory`,
  )
  /** @param {unknown} bytes */
  const mib = bytes => (typeof bytes === 'number' ? `${(bytes / 2 ** 20).toFixed(0)} MiB` : '-')
  console.log(
    `\npeak memory of a training step at a vocabulary of 32k, 32 x 128 tokens: ${mib(ours)} (transformers ${mib(theirs)}${typeof theirs === 'number' ? `, ${(ours / theirs).toFixed(2)} of it; target <= 0.5` : ''})`,
  )
}
peer?.close()
process.exit(options.check && !kept ? 1 : 0)
