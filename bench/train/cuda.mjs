/**
 * Whole GRPO iterations on a CUDA device, Qwen2 0.5B and 1.5B in bfloat16 with random weights: seconds of each stage, tokens per
 * second, MFU of the update, the gap between the engine's log-probabilities and the trainer's, and what the first iteration costs more.
 *
 *   npm run bench:train:cuda [-- --check] [--iterations N] [--only 0.5b,1.5b] [--lengths equal|ragged] [--prompts N] [--tokens N]
 *
 * The loop is the one of `whetstone rl`, with its journal and metrics in a run directory; checkpoints are not written, because
 * their time is the disk's. It needs neither network nor Python.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDataset } from 'whetstone/data'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel, newConfig, sizes } from 'whetstone/model'
import { sampleReward } from 'whetstone/reward'
import { LocalEngine } from 'whetstone/rollout'
import { Run } from 'whetstone/run'
import { backend, memoryUse } from 'whetstone/tensor'
import { turnsOf } from '#whetstone/experience'
import { resolveRlConfig, trainRl } from '#whetstone/train'
import { makePrompts, makeTokenizer } from '../experience/world.mjs'
import { median, printTable } from '../harness.mjs'

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    iterations: { type: 'string', default: '5' },
    only: { type: 'string', default: '0.5b,1.5b' },
    lengths: { type: 'string', default: 'equal' },
    prompts: { type: 'string', default: '32' },
    tokens: { type: 'string', default: '512' },
    device: { type: 'string', default: 'cuda' },
  },
})
const { cuda, libtorchVersion } = backend()
if (!cuda.available && options.device === 'cuda') {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const device = /** @type {'cuda'} */ (options.device)
const [iterations, promptCount, tokens] = [options.iterations, options.prompts, options.tokens].map(Number)
const nSamplesPerPrompt = 8
const promptLength = 128
const vocabSize = 151936
const peakFlops = 989e12 // dense bfloat16 by the vendor's datasheet
/** @type {Record<string, number>} */
const leastMfu = { '0.5b': 0.41, '1.5b': 0.5 }

const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
const tokenizer = await makeTokenizer(join(scratch, 'tokenizer'), vocabSize)
const data = join(scratch, 'prompts.jsonl')
const prompts = await makePrompts(tokenizer, promptCount * 2, promptLength)
writeFileSync(data, prompts.map(prompt => `${JSON.stringify({ prompt })}\n`).join(''))
const reward = sampleReward(({ response }) => response.length % 7, { name: 'cheap' })
/** Ragged: random weights sample all tokens alike, so that lengths are geometric, half of `tokens` on average. */
const eosIds =
  options.lengths === 'ragged'
    ? Array.from({ length: Math.round((2 * vocabSize) / tokens) }, (_, i) => (i * tokens) / 2)
    : undefined

/**
 * Products of weights forward and backward, and of causal attention: the head's for the tokens that are trained alone.
 *
 * @param {import('whetstone/model').ModelConfig} config
 * @param {{ prompt: number, response: number, samples: number }} mean
 */
function updateFlops({ decoder }, { prompt, response, samples }) {
  const { hidden, intermediate, layers, heads, kvHeads, headDim } = decoder
  const layer = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * intermediate
  const length = prompt + response
  const each = 6 * layers * layer * length + 6 * vocabSize * hidden * response
  return samples * (each + 6 * layers * heads * headDim * length * length)
}

/** @param {'0.5b' | '1.5b'} size */
async function measure(size) {
  const config = newConfig('qwen2', { ...sizes[size], vocabSize }, { eos: tokenizer.eosId })
  const create = (/** @type {number} */ seed) =>
    LocalModel.create(config, { role: 'language', seed, device, dtype: 'bfloat16', tokenBudget: 16384 })
  const [actor, reference] = [await create(1), await create(2)]
  const output = join(scratch, size)
  const { config: rl, origins } = resolveRlConfig([
    {
      origin: 'bench',
      values: {
        ...{ model: scratch, data, output, rewards: 'none', algorithm: 'grpo', chatTemplate: 'none', iterations },
        ...{ rolloutBatchSize: promptCount, nSamplesPerPrompt, maxNewTokens: tokens, ignoreEos: !eosIds },
      },
    },
  ])
  const engine = new LocalEngine(actor, { tokenizer, maxLength: promptLength + tokens + 64, ...(eosIds && { eosIds }) })
  const scoring = { actor, reference, tokenizer, generator: engine, sources: [reward] }
  const turns = turnsOf(scoring, rl)
  const maker = new FastExperienceMaker({
    ...scoring,
    turns,
    advantageEstimator: 'group_norm',
    useKlLoss: true,
    klEstimator: 'k3',
    nSamplesPerPrompt,
    maxNewTokens: tokens,
    ignoreEos: !eosIds,
  })
  const dataset = await openDataset('prompts', data, {
    ...{ trainOn: 'assistant', validationShare: 0, maxBadRows: 0, shuffle: true, overlong: 'drop' },
    ...{ chatTemplate: 'none', seed: 0, baseDirectory: scratch },
  })
  const run = await Run.create(output, { command: 'rl', config: {}, origins, fingerprints: {}, versions: {} })
  run.checkpoint = async () => {}
  /** @type {{ seconds: number, values: Readonly<Record<string, number>> }[]} */
  const steps = []
  let last = performance.now()
  await trainRl({
    config: rl,
    tokenizer,
    iterations,
    run,
    parts: {
      ...{ actor, critic: undefined, ema: undefined, generator: engine, dtype: actor.dtype, maker, turns },
      ...{ prompts: dataset.train(tokenizer), heldOut: undefined, ptx: undefined },
      syncWeights: () => engine.updateWeights({ version: actor.version }),
    },
    progress: {
      step(_, values) {
        const now = performance.now()
        steps.push({ seconds: (now - last) / 1e3, values })
        last = now
      },
      ...{ begin() {}, note() {}, warn() {}, stage() {}, leave() {}, end() {} },
    },
    memory: () => ({}),
    signal: new AbortController().signal,
  })
  const { peakBytes } = device === 'cuda' ? memoryUse(device) : { peakBytes: 0 }
  await run.close('finished')
  await dataset.close()
  await maker.rewards.close()
  await engine.close()
  for (const model of [actor, reference]) model.dispose()
  return { config, steps, peakBytes }
}

const ms = (/** @type {number} */ seconds) => `${(1e3 * seconds).toFixed(0)} ms`
const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)} %`

/** @param {'0.5b' | '1.5b'} size @returns {Promise<import('../harness.mjs').Row>} */
async function row(size) {
  const { config, steps, peakBytes } = await measure(size)
  const [first, ...later] = steps
  const of = (/** @type {string} */ name) => median(later.map(({ values }) => values[name] ?? 0))
  const whole = median(later.map(({ seconds }) => seconds))
  const stages = ['generation', 'reference', 'actor', 'update'].map(name => of(`seconds/${name}`))
  const samples = of('samples/trained')
  const mean = { prompt: of('length/prompt'), response: of('length/mean'), samples }
  const mfu = updateFlops(config, mean) / of('seconds/update') / peakFlops
  const rest = (whole - stages.reduce((a, b) => a + b, 0)) / whole
  return {
    name: `Qwen2 ${size.toUpperCase()}`,
    cells: [
      ms(whole),
      ...[stages[0], stages[1], stages[3]].map(ms),
      percent(rest),
      `${((samples * mean.response) / whole / 1e3).toFixed(1)}k`,
      percent(mfu),
      `${of('gap/mean').toExponential(1)}, ${of('gap/max').toExponential(1)}`,
      ms(first.seconds - whole),
      `${(peakBytes / 2 ** 30).toFixed(0)} GiB`,
    ],
    targets: [
      { text: `MFU >= ${percent(leastMfu[size])}`, holds: mfu >= leastMfu[size] },
      { text: 'rest under 5 %', holds: rest < 0.05 },
    ],
  }
}

console.log(
  `bfloat16, ${cuda.devices[0]?.name ?? 'CPU'}, libtorch ${libtorchVersion}; ${promptCount} prompts of ${promptLength} tokens x ${nSamplesPerPrompt} samples of ${eosIds ? 'up to ' : ''}${tokens} tokens; median of ${iterations - 1} iterations\n`,
)
let kept = true
try {
  const rows = []
  for (const size of /** @type {('0.5b' | '1.5b')[]} */ (options.only.split(','))) rows.push(await row(size))
  kept = printTable(
    ['GRPO iteration', 'whole', 'generation', 'reference', 'update', 'rest', 'tokens/s', 'MFU of the update', 'gap: mean, max', 'first one more', 'peak'], // biome-ignore format: one head
    rows,
  )
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
if (options.check && !kept) process.exitCode = 1
