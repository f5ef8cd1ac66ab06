/**
 * Generation on a CUDA device: a 0.5B Qwen2 in bfloat16, prompts and responses of 128 tokens, from 1 to 1,024 sequences at
 * once, and 1,000 requests of unequal length; beside the least time memory allows, and transformers' generate in the same run.
 *
 *   npm run bench:rollout:cuda [-- --check] [--rounds N] [--only 64,256]
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { LocalModel, parseConfig, projections } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { backend, Tensor } from 'whetstone/tensor'
import { deviceTime } from '../cuda/timing.mjs'
import { inTurns, printTable, startPython } from '../harness.mjs'

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, rounds: { type: 'string' }, only: { type: 'string' } },
})
const { cuda, libtorchVersion } = backend()
if (!cuda.available) {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const rounds = Number(options.rounds ?? 3)
const [prompt, response] = [128, 128]
const vocabSize = 151936
const config = parseConfig(
  {
    architectures: ['Qwen2ForCausalLM'],
    vocab_size: vocabSize,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    max_position_embeddings: 4096,
    tie_word_embeddings: true,
    rope_theta: 1e6,
  },
  'config.json',
)
const settings = /** @type {const} */ ({ role: 'language', seed: 1, device: 'cuda', dtype: 'bfloat16' })
const model = await LocalModel.create(config, settings)
const parameters = 494_032_768
const cacheBytes = 24 * 2 * 2 * 64 * 2 // of a token

/** Bytes a second of a large copy, read and written. */
async function bandwidth() {
  const [from, to] = [0, 1].map(() => Tensor.empty([2 ** 30], { dtype: 'float32', device: 'cuda' }).fill_(1))
  const seconds = await deviceTime(() => to.copy_(from), 0.05, 3)
  from.dispose()
  to.dispose()
  return (2 * 2 ** 32) / seconds
}

let seed = 0
/**
 * Prompts that no run had before; `lengths` are the responses'.
 *
 * @typedef {Partial<import('whetstone/rollout').GenerationRequest['sampling']>} Sampling
 * @param {number[]} lengths
 * @param {{ promptLength?: (k: number) => number, n?: number, sampling?: Sampling }} options
 */
function requestsOf(lengths, { promptLength = _ => prompt, n = 1, sampling = {} } = {}) {
  seed++
  return lengths.map((length, k) => ({
    id: `${seed}-${k}`,
    n,
    promptIds: Int32Array.from(
      { length: promptLength(k) },
      (_, i) => (i * 7919 + k * 104729 + seed * 1299709) % vocabSize,
    ),
    sampling: { seed, maxNewTokens: length, ignoreEos: true, ...sampling },
  }))
}

/** @param {LocalEngine} engine @param {Iterable<import('whetstone/rollout').GenerationRequest>} requests */
async function generate(engine, requests) {
  const start = performance.now()
  let tokens = 0
  for await (const outcome of engine.generate(requests)) {
    if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome))
    tokens += outcome.responseIds.length
  }
  return { seconds: (performance.now() - start) / 1e3, tokens }
}

const rate = await bandwidth()
console.log(
  `Qwen2 0.5B, bfloat16, ${cuda.devices[0].name}, libtorch ${libtorchVersion}, copy ${(rate / 1e12).toFixed(2)} TB/s; best of ${rounds}\n`,
)
const peer = startPython(fileURLToPath(new URL('./peer-cuda.py', import.meta.url)))
/** @type {import('../harness.mjs').Row[]} */
const rows = []
/** @param {number} tokens */
const show = tokens => (tokens >= 1e4 ? `${(tokens / 1e3).toFixed(1)}k` : tokens.toFixed(0))
/** Weights once a step, and every sequence's keys and values. @param {number} concurrent @param {number} meanLength */
const floorOf = (concurrent, meanLength) => (parameters * 2 + concurrent * meanLength * cacheBytes) / rate

/**
 * What is generated at once: prompts, samples of each. Top-k 50 is what transformers does where nobody says otherwise; what other
 * options cost is seen beside 256.
 */
/** Samples come from merged copies of the weights, so this row should be the one without an adapter. */
const adapter = { rank: 16, alpha: 32, dropout: 0, targets: projections, seed: 2 }
const special = Array.from({ length: 300 }, (_, i) => vocabSize - 300 + i)
/**
 * @typedef {{
 *   prompts: number, samples?: number, topK?: number, more?: string, sampling?: Sampling, peer?: boolean,
 *   adapter?: import('whetstone/model').AdapterOptions & { seed: number }
 * }} Case
 * @type {Case[]}
 */
const allCases = [
  { prompts: 1 },
  { prompts: 8 },
  { prompts: 64, peer: true },
  { prompts: 64, topK: 50, peer: true },
  { prompts: 256, peer: true },
  { prompts: 256, topK: 50, peer: true },
  { prompts: 32, samples: 8, peer: true },
  { prompts: 256, more: 'top-p 0.9', sampling: { topP: 0.9 } },
  { prompts: 256, topK: 50, more: '300 ids forbidden', sampling: { forbiddenIds: special } },
  { prompts: 256, more: '5 log-probabilities', sampling: { topLogprobs: 5 } },
  { prompts: 256, more: 'a model with an adapter', adapter },
  { prompts: 1024 },
]
const only = options.only?.split(',')
const cases = allCases.filter(({ prompts, samples = 1 }) => !only || only.includes(`${prompts * samples}`))
for (const { prompts, samples = 1, topK, more, sampling, peer: compared, adapter } of cases) {
  const concurrent = prompts * samples
  const adapted = adapter && (await LocalModel.create(config, { ...settings, adapter }))
  const engine = new LocalEngine(adapted ?? model, { maxSequences: concurrent, maxLength: prompt + response })
  const run = async (length = response) => {
    const lengths = Array.from({ length: prompts }, () => length)
    const { seconds } = await generate(
      engine,
      requestsOf(lengths, { n: samples, sampling: { ...(topK ? { topK } : {}), ...sampling } }),
    )
    return seconds
  }
  // The host's own code is compiled as it runs, too.
  for (let i = 0; i < 4; i++) await run()
  const whole = await inTurns(
    {
      ours: () => run(),
      first: () => run(1),
      peer: peer && compared ? () => peer.measure(`${prompts} ${samples} ${topK ?? 0}`) : undefined,
    },
    rounds,
  )
  await engine.close()
  adapted?.dispose()
  const step = (whole.ours - whole.first) / (response - 1)
  const floor = floorOf(concurrent, prompt + response / 2)
  const tokens = concurrent * response
  const ratio = whole.peer ? whole.peer / whole.ours : undefined
  rows.push({
    name: `${concurrent}${samples > 1 ? ` (${prompts} prompts x ${samples})` : ''}${topK ? `, top-k ${topK}` : ''}${more ? `, ${more}` : ''}`,
    cells: [
      show(tokens / whole.ours),
      whole.peer ? show(tokens / whole.peer) : '-',
      ratio ? `${ratio.toFixed(1)}x` : '-',
      `${(whole.first * 1e3).toFixed(1)} ms`,
      `${(step * 1e3).toFixed(2)} ms`,
      show(concurrent / step),
      `${(floor * 1e3).toFixed(2)} ms`,
    ],
    targets: ratio === undefined ? [] : [{ text: '>= 15x', holds: ratio >= 15 }],
  })
}

if (!options.only) {
  const engine = new LocalEngine(model, { maxSequences: 256, maxLength: 1024 })
  const lengths = Array.from({ length: 1000 }, (_, i) => 16 + Math.floor(((i * 0.618034) % 1) ** 2 * 496))
  /** @param {number} k */
  const promptLength = k => 16 + Math.floor(((k * 0.754878) % 1) * 240)
  await generate(engine, requestsOf(lengths, { promptLength }))
  let best = Infinity
  let made = 0
  for (let i = 0; i < rounds; i++) {
    const { seconds, tokens } = await generate(engine, requestsOf(lengths, { promptLength }))
    best = Math.min(best, seconds)
    made = tokens
  }
  await engine.close()
  rows.push({
    name: '256, 1,000 ragged requests',
    cells: [show(made / best), '-', '-', '-', '-', '-', '-'],
    targets: [],
  })
}
const kept = printTable(
  ['at once', 'tokens/s', 'transformers', 'ratio', 'first token', 'step', 'tokens/s of steps', 'memory floor'],
  rows,
)
peer?.close()
model.dispose()
process.exit(options.check && !kept ? 1 : 0)
