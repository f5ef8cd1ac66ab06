/**
 * Experience generation on a CUDA device: actor, reference and a reward model, each a 0.5B Qwen2 in bfloat16 with random
 * weights, on one card; all of them there at once, and in turns (`enableEngineSleep`).
 *
 *   npm run bench:experience:cuda [-- --rounds N] [--prompts N] [--samples N] [--tokens N]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel, newConfig, sizes } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { backend, memoryUse, synchronize } from 'whetstone/tensor'
import { printTable } from '../harness.mjs'
import { makePrompts, makeTokenizer } from './world.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    prompts: { type: 'string', default: '64' },
    samples: { type: 'string', default: '8' },
    tokens: { type: 'string', default: '256' },
  },
})
const { cuda, libtorchVersion } = backend()
if (!cuda.available) {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const [rounds, promptCount, samples, tokens] = [options.rounds, options.prompts, options.samples, options.tokens].map(
  Number,
)
const promptLength = 128
const vocabSize = 151936
const device = 'cuda'

const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
const tokenizer = await makeTokenizer(scratch, vocabSize).finally(() => rmSync(scratch, { recursive: true }))
const prompts = await makePrompts(tokenizer, promptCount, promptLength)
const config = newConfig('qwen2', { ...sizes['0.5b'], vocabSize }, { eos: tokenizer.eosId })
const create = (/** @type {'language' | 'reward'} */ role, /** @type {number} */ seed) =>
  LocalModel.create(config, { role, seed, device, dtype: 'bfloat16' })
const actor = /** @type {LocalModel<'language'>} */ (await create('language', 1))
const reference = /** @type {LocalModel<'language'>} */ (await create('language', 2))
const reward = /** @type {LocalModel<'reward'>} */ (await create('reward', 3))
console.log(
  `Qwen2 0.5B x 3, bfloat16, ${cuda.devices[0].name}, libtorch ${libtorchVersion}; ${promptCount} prompts of up to ${promptLength} tokens x ${samples} samples x ${tokens} tokens; best of ${rounds}\n`,
)

/** The least disturbed batch, and the most memory that was taken in any of them. @param {boolean} enableEngineSleep */
async function measure(enableEngineSleep) {
  const engine = new LocalEngine(actor, {
    tokenizer,
    maxSequences: promptCount * samples,
    maxLength: promptLength + tokens,
  })
  const maker = new FastExperienceMaker({
    actor,
    reference,
    tokenizer,
    generator: engine,
    rewardModel: { model: reward, tokenizer },
    advantageEstimator: 'group_norm',
    nSamplesPerPrompt: samples,
    maxNewTokens: tokens,
    ignoreEos: true,
    enableEngineSleep,
  })
  // Kernels are compiled and graphs captured as they are first needed.
  for (let i = 0; i < 2; i++) await maker.makeExperienceList(prompts)
  await synchronize()
  memoryUse(device, { resetPeak: true })
  let best = (await maker.makeExperienceList(prompts)).info
  for (let i = 1; i < rounds; i++) {
    const { info } = await maker.makeExperienceList(prompts)
    if (info.seconds.total < best.seconds.total) best = info
  }
  const { peakBytes } = memoryUse(device)
  await engine.close()
  if (best.tokens !== promptCount * samples * tokens) throw new Error(`${best.tokens} tokens: ${JSON.stringify(best)}`)
  return { info: best, peakBytes }
}

const ms = (/** @type {number} */ seconds) => `${(1e3 * seconds).toFixed(0)} ms`
const rows = []
for (const [name, sleeps] of /** @type {const} */ ([
  ['all on the card', false],
  ['in turns', true],
])) {
  const { info, peakBytes } = await measure(sleeps)
  const { seconds } = info
  const model = seconds.generation + seconds.actor + seconds.reference
  rows.push({
    name,
    cells: [
      `${(info.generatedTokensPerSecond / 1e3).toFixed(1)}k`,
      `${(info.tokensPerSecond / 1e3).toFixed(1)}k`,
      ms(seconds.total),
      ms(seconds.generation),
      ms(seconds.reward),
      ms(seconds.actor),
      ms(seconds.reference),
      ms(seconds.encoding + seconds.advantages),
      `${((100 * (seconds.total - model - seconds.reward)) / seconds.total).toFixed(1)} %`,
      `${(100 * info.rewardOverlap).toFixed(0)} %`,
      `${(peakBytes / 2 ** 30).toFixed(1)} GiB`,
    ],
    targets: [],
  })
}
printTable(
  [
    'models',
    'tokens/s, generation',
    'tokens/s, all',
    'batch',
    'generation',
    'reward beyond it',
    'actor',
    'reference',
    'encoding, advantages',
    'outside models and rewards',
    'reward calls during generation',
    'peak',
  ],
  rows,
)
for (const model of [actor, reference, reward]) model.dispose()
