/**
 * The local engine against transformers' generate, in turns on the same machine: the same prompts, the same number of tokens
 * for every sample. `npm run bench:rollout`; WHETSTONE_PEER_PYTHON names a Python that has transformers.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LocalModel, parseConfig } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { backend } from 'whetstone/tensor'
import { inTurns, Peer, printTable } from '../harness.mjs'

const rounds = Number(process.env.WHETSTONE_BENCH_ROUNDS ?? 2)
const shapes = {
  '2.0M': { hidden: 128, intermediate: 512, layers: 6, heads: 4, kvHeads: 2, headDim: 32, vocabSize: 4096 },
  '25.7M': { hidden: 512, intermediate: 1328, layers: 8, heads: 8, kvHeads: 2, headDim: 64, vocabSize: 8192 },
}
const eos = 2
const [prompts, samples, promptLength, meanLength] = [16, 8, 64, 32]

/** Numbers that look random and are the same every time. @param {number} seed */
function numbers(seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state + 0.5) / 2 ** 32
  }
}

/** @param {typeof shapes[keyof typeof shapes]} shape */
function configOf({ hidden, intermediate, layers, heads, kvHeads, headDim, vocabSize }) {
  return {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    vocab_size: vocabSize,
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    tie_word_embeddings: true,
    use_sliding_window: false,
    bos_token_id: 1,
    eos_token_id: eos,
    hidden_act: 'silu',
    initializer_range: 0.02,
  }
}

function startPeer() {
  const python = process.env.WHETSTONE_PEER_PYTHON ?? 'python3'
  const found = spawnSync(python, ['-c', 'import transformers, torch'], { stdio: 'ignore' })
  if (found.status === 0) return new Peer(python, [fileURLToPath(new URL('./peer.py', import.meta.url))])
  console.log('no Python with transformers found: that column is skipped')
  return undefined
}

const next = numbers(1)
const geometric = () =>
  Math.max(1, Math.min(6 * meanLength, Math.ceil(Math.log(next()) / Math.log(1 - 1 / meanLength))))
const equalPrompts = Array.from({ length: prompts }, () => promptLength)
const raggedLengths = Array.from({ length: prompts * samples }, geometric)
const workloads = {
  'equal lengths': {
    target: 2,
    prompts: equalPrompts,
    lengths: Array.from({ length: prompts * samples }, () => meanLength),
  },
  'ragged responses': { target: 4, prompts: equalPrompts, lengths: raggedLengths },
  // A padded batch also needs a mask, which costs transformers its fast attention.
  'ragged prompts and responses': {
    target: 4,
    prompts: Array.from({ length: prompts }, () => 8 + Math.floor(next() * (2 * promptLength - 16))),
    lengths: raggedLengths,
  },
}

const peer = startPeer()
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
/** @type {import('../harness.mjs').Row[]} */
const rows = []
const { libtorchVersion, threads } = backend()
console.log(`libtorch ${libtorchVersion}, ${threads} threads, float32, ${prompts} prompts x ${samples} samples`)
try {
  for (const [size, shape] of Object.entries(shapes)) {
    const directory = join(scratch, size)
    const model = await LocalModel.create(parseConfig(configOf(shape), 'config.json'), { role: 'language', seed: 1 })
    await model.export(directory, { what: 'model' })
    for (const [name, { target, prompts: promptLengths, lengths }] of Object.entries(workloads)) {
      const ids = promptLengths.map(length =>
        Array.from({ length }, () => 3 + Math.floor(next() * (shape.vocabSize - 3))),
      )
      const tokens = lengths.reduce((sum, length) => sum + length, 0)
      const engine = new LocalEngine(model, { eosIds: [eos] })
      const ours = async () => {
        const start = performance.now()
        let made = 0
        const requests = ids.map((prompt, i) => ({
          id: `${i}`,
          promptIds: Int32Array.from(prompt),
          n: samples,
          sampling: {
            seed: 1,
            maxNewTokens: lengths.slice(i * samples, (i + 1) * samples),
            ignoreEos: true,
            forbiddenIds: [eos],
          },
        }))
        for await (const outcome of engine.generate(requests)) {
          if (outcome.kind !== 'completed') throw new Error(outcome.message)
          made += outcome.responseIds.length
        }
        if (made !== tokens) throw new Error(`${made} tokens instead of ${tokens}`)
        return (performance.now() - start) / 1e3 / tokens
      }
      const work = { model: directory, dtype: 'float32', device: 'cpu', prompts: ids, n: samples, lengths, eos }
      const theirs =
        peer &&
        (async () => {
          const seconds = await peer.measure(JSON.stringify(work))
          return seconds === null ? null : seconds / tokens
        })
      const best = await inTurns({ ours, theirs }, rounds)
      await engine.close()
      /** @param {number | undefined} seconds */
      const rate = seconds => (seconds ? Math.round(1 / seconds).toString() : '-')
      const ratio = best.theirs && best.theirs / best.ours
      rows.push({
        name: `${size}, ${name} (${tokens} tokens)`,
        cells: [rate(best.ours), rate(best.theirs), ratio ? ratio.toFixed(2) : '-'],
        targets: [{ text: `>= ${target}x`, holds: ratio === undefined ? undefined : ratio >= target }],
      })
    }
    model.dispose()
  }
} finally {
  peer?.close()
  rmSync(scratch, { recursive: true, force: true })
}
if (!printTable(['CPU', 'whetstone tokens/s', 'transformers tokens/s', 'ratio'], rows)) process.exitCode = 1
