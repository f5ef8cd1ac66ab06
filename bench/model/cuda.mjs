/**
 * A training step of a 0.5B Qwen2 in bfloat16 on a CUDA device, against transformers in the same run.
 *
 *   npm run bench:model:cuda [-- --check]
 */
import { parseArgs } from 'node:util'
import { LocalModel, parseConfig } from 'whetstone/model'
import { backend, memoryUse, noGrad, randn, scope, synchronize } from 'whetstone/tensor'
import { inTurns, printTable, startPython } from '../harness.mjs'

const { values: options } = parseArgs({ options: { check: { type: 'boolean' }, rounds: { type: 'string' } } })
const { cuda, libtorchVersion } = backend()
if (!cuda.available) {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const peakFlops = 989e12 // dense bfloat16 by the vendor's datasheet
const rounds = Number(options.rounds ?? 3)
const steps = 4

const shape = { vocab_size: 151936, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14, num_key_value_heads: 2 } // biome-ignore format: one shape
const config = parseConfig(
  {
    architectures: ['Qwen2ForCausalLM'],
    ...shape,
    max_position_embeddings: 4096,
    tie_word_embeddings: true,
    rope_theta: 1e6,
  },
  'config.json',
)
const model = await LocalModel.create(config, { role: 'language', seed: 1, device: 'cuda' })
const parameters = 494_032_768
/** Products of weights forward and backward, and of causal attention. @param {number[]} lengths */
const flops = lengths => lengths.reduce((sum, n) => sum + n * (6 * parameters + 6 * 24 * 896 * n), 0)

const workloads = {
  equal: Array.from({ length: 32 }, () => 512),
  ragged: Array.from({ length: 32 }, (_, i) => 64 + Math.floor(((i * 0.618034) % 1) * 449)),
}

/** @param {Int32Array[]} sequences */
async function step(sequences) {
  const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0)
  await model.forwardBackward(sequences, outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) })),
  )
  await model.step({ lr: 1e-5, clipNorm: 1 })
}

/** Floating-point operations a second of a large matrix product: the ceiling of everything here. */
async function productRate() {
  const [a, b] = noGrad(() => [
    randn([8192, 8192], { dtype: 'bfloat16', device: 'cuda' }),
    randn([8192, 8192], { dtype: 'bfloat16', device: 'cuda' }),
  ])
  const run = () => scope(() => void a.matmul(b))
  for (let i = 0; i < 3; i++) run()
  await synchronize()
  const start = performance.now()
  for (let i = 0; i < 10; i++) run()
  await synchronize()
  const seconds = (performance.now() - start) / 1e4
  a.dispose()
  b.dispose()
  return (2 * 8192 ** 3) / seconds
}

const peer = startPython(new URL('./peer-cuda.py', import.meta.url).pathname)
console.log(`Qwen2 0.5B, bfloat16, ${cuda.devices[0].name}, libtorch ${libtorchVersion}; best of ${rounds}\n`)
const ceiling = await productRate()
/** @type {Record<string, number>} */
const targets = { equal: 1.5, ragged: 2.5 }
/** @type {import('../harness.mjs').Row[]} */
const rows = []
for (const [name, lengths] of Object.entries(workloads)) {
  const tokens = lengths.reduce((sum, n) => sum + n, 0)
  const sequences = lengths.map((n, k) =>
    Int32Array.from({ length: n }, (_, i) => (i * 7919 + k * 104729) % shape.vocab_size),
  )
  await step(sequences)
  await step(sequences)
  memoryUse('cuda', { resetPeak: true })
  const measure = async () => {
    await synchronize()
    const start = performance.now()
    for (let i = 0; i < steps; i++) await step(sequences)
    await synchronize()
    return (performance.now() - start) / 1e3 / steps
  }
  const found = await inTurns({ ours: measure, peer: peer && (() => peer.measure(JSON.stringify(lengths))) }, rounds)
  const ours = memoryUse('cuda').peakBytes
  const theirs = await peer?.ask('memory')
  const ratio = found.peer === undefined ? undefined : found.peer / found.ours
  /** @param {unknown} bytes */
  const gib = bytes => (typeof bytes === 'number' ? `${(bytes / 2 ** 30).toFixed(0)} GiB` : '-')
  rows.push({
    name: `training step, ${name} lengths`,
    cells: [
      `${(tokens / found.ours / 1e3).toFixed(0)}k tok/s`,
      found.peer === undefined ? '-' : `${(tokens / found.peer / 1e3).toFixed(0)}k tok/s`,
      ratio === undefined ? '-' : `${ratio.toFixed(2)}x`,
      `${((100 * flops(lengths)) / found.ours / peakFlops).toFixed(1)} %`,
      `${((100 * ceiling) / peakFlops).toFixed(1)} %`,
      gib(ours),
      gib(theirs),
    ],
    targets: [{ text: `>= ${targets[name]}x`, holds: ratio === undefined ? undefined : ratio >= targets[name] }],
  })
}
const kept = printTable(
  ['work', 'Whetstone', 'transformers', 'ratio', 'MFU', 'MFU of a product', 'peak', 'their peak'],
  rows,
)
peer?.close()
process.exit(options.check && !kept ? 1 : 0)
