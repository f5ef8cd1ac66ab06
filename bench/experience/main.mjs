/**
 * Experience generation on the CPU with a 2.0M model, a reference and a reward: where the time goes, what overlap and packing
 * save, how it grows with the batch, and TRL's generation and scoring of one GRPO step in turns on the same machine.
 *
 *   npm run bench:experience [-- --check] [--rounds N] [--only stages,overlap,advantages,packing,growth,trl]
 *
 * WHETSTONE_PEER_PYTHON names a Python that has trl.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel, newConfig, sizes } from 'whetstone/model'
import { httpReward, sampleReward } from 'whetstone/reward'
import { LocalEngine } from 'whetstone/rollout'
import { backend } from 'whetstone/tensor'
import { inTurns, Peer, printTable } from '../harness.mjs'
import { timeAdvantages } from './advantages.mjs'
import { makePrompts, makeTokenizer, startRewardServer } from './world.mjs'

/**
 * @typedef {import('whetstone/experience').ExperienceInfo} Info
 * @typedef {import('whetstone/experience').FastExperienceMakerOptions} MakerOptions
 * @typedef {import('whetstone/rollout').LocalEngineOptions} EngineOptions
 */

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, rounds: { type: 'string' }, only: { type: 'string' } },
})
const rounds = Number(options.rounds ?? 3)
const only = options.only?.split(',')
const vocabSize = 4096
const promptLength = 64
const delayMs = 200

const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
const tokenizer = await makeTokenizer(join(scratch, 'tokenizer'), vocabSize)
const config = newConfig('qwen2', { ...sizes['2m'], vocabSize }, { eos: tokenizer.eosId })
const actor = await LocalModel.create(config, { role: 'language', seed: 1 })
const reference = await LocalModel.create(config, { role: 'language', seed: 2 })
const cheap = sampleReward(({ response }) => response.length % 7, { name: 'cheap' })

/** Every so many tokens one of these ends a response, as random models sample them: lengths are geometric. @param {number} mean */
const endsAfter = mean => Array.from({ length: Math.round(vocabSize / mean) }, (_, i) => i * mean)

/**
 * @template T
 * @param {Partial<MakerOptions> & { engine?: EngineOptions }} given
 * @param {(maker: FastExperienceMaker, engine: LocalEngine) => Promise<T>} work
 */
async function withMaker({ engine: engineOptions, ...given }, work) {
  const engine = new LocalEngine(actor, { tokenizer, ...engineOptions })
  const maker = new FastExperienceMaker({
    actor,
    reference,
    tokenizer,
    generator: engine,
    sources: [cheap],
    advantageEstimator: 'group_norm',
    nSamplesPerPrompt: 8,
    maxNewTokens: 64,
    ...given,
  })
  try {
    return await work(maker, engine)
  } finally {
    await maker.rewards.close()
    await engine.close()
  }
}

/** The least disturbed of several batches. @param {FastExperienceMaker} maker @param {readonly string[]} prompts */
async function bestInfo(maker, prompts, times = rounds) {
  /** @type {Info | undefined} */
  let best
  for (let i = 0; i < times; i++) {
    const { info } = await maker.makeExperienceList(prompts)
    if (!best || info.seconds.total < best.seconds.total) best = info
  }
  if (!best) throw new RangeError('rounds: at least 1')
  return best
}

const percent = (/** @type {number} */ share, digits = 1) => `${(100 * share).toFixed(digits)} %`
const ms = (/** @type {number} */ seconds) => `${(1e3 * seconds).toFixed(1)} ms`

/** Where the time of 16 prompts x 8 samples x 64 tokens goes. */
async function stages() {
  const prompts = await makePrompts(tokenizer, 16, promptLength)
  const ids = await tokenizer.encodeBatch(prompts)
  return withMaker({ ignoreEos: true }, async (maker, engine) => {
    await maker.makeExperienceList(prompts)
    let call = 0
    /** What the engine takes when nobody decodes or rewards meanwhile. */
    const alone = async () => {
      const start = performance.now()
      call++
      const sampling = { seed: 0, maxNewTokens: 64, minNewTokens: 1, ignoreEos: true }
      const requests = ids.map((promptIds, i) => ({ id: `${call}/${i}`, promptIds, n: 8, sampling }))
      for await (const outcome of engine.generate(requests))
        if (outcome.kind !== 'completed') throw new Error(outcome.message)
      return (performance.now() - start) / 1e3
    }
    /** @type {Info | undefined} */
    let best
    let bare = Number.POSITIVE_INFINITY
    for (let i = 0; i < rounds; i++) {
      bare = Math.min(bare, await alone())
      const info = await bestInfo(maker, prompts, 1)
      if (!best || info.seconds.total < best.seconds.total) best = info
    }
    const { seconds, samples, tokens } = /** @type {Info} */ (best)
    const { total, generation, actor: acted, reference: referred, critic, ...others } = seconds
    const outside = (total - generation - acted - referred - critic) / total
    console.log(
      `\n${samples} samples x ${tokens / samples} tokens in ${total.toFixed(2)} s; generation alone ${bare.toFixed(3)} s`,
    )
    const row = (/** @type {[string, number]} */ [name, value]) => ({
      name,
      cells: [ms(value), percent(value / total, 2)],
      targets: /** @type {import('../harness.mjs').Target[]} */ ([]),
    })
    const shown = { generation, actor: acted, reference: referred, ...others }
    return printTable(
      ['stage', 'time', 'share'],
      [
        ...Object.entries(shown).map(row),
        {
          name: 'not model compute',
          cells: [ms(outside * total), percent(outside, 2)],
          targets: [{ text: 'under 3 %', holds: outside < 0.03 }],
        },
      ],
    )
  })
}

/**
 * A reward server that takes 200 ms for a call of at most 8 samples, 4 calls at a time. What overlap hides is told from
 * generation and rewards together with and without that delay, beside what the same calls take when they begin afterwards.
 */
async function overlap() {
  const prompts = (await makePrompts(tokenizer, 32, promptLength)).map((prompt, i) => ({ prompt, promptId: `${i}` }))
  const server = await startRewardServer({ delayMs })
  const remote = httpReward({ name: 'remote', url: server.url, batchSize: 8, concurrency: 4 })
  const engine = { maxSequences: 32, eosIds: endsAfter(64) }
  try {
    return await withMaker({ engine, sources: [remote], maxNewTokens: 128 }, async maker => {
      const sample = async (/** @type {number} */ delay) => {
        server.options.delayMs = delay
        const start = performance.now()
        const collected = await maker.generateSamples(prompts)
        return { collected, seconds: (performance.now() - start) / 1e3 }
      }
      await sample(0)
      let [slow, fast] = [await sample(delayMs), await sample(0)]
      // Both are sums of many waits, so that more of them are needed for their difference.
      for (let i = 1; i < 2 * rounds; i++) {
        const [one, other] = [await sample(delayMs), await sample(0)]
        if (one.seconds < slow.seconds) slow = one
        if (other.seconds < fast.seconds) fast = other
      }
      const { groups, seconds, rewardOverlap } = slow.collected
      const inputs = groups.flat().map(({ sequence, sample: { finishReason, sample }, texts }) => ({
        ...texts,
        answer: texts.response,
        query: texts.promptRaw + texts.responseRaw,
        sequence,
        row: sequence.row,
        promptId: sequence.promptId,
        finishReason,
        sample,
      }))
      server.options.delayMs = delayMs
      const start = performance.now()
      await maker.rewards.compute(inputs)
      const after = (performance.now() - start) / 1e3
      const added = Math.max(0, slow.seconds - fast.seconds)
      const hidden = 1 - added / after
      console.log(`\n${inputs.length} ragged samples; a call of up to 8 takes ${delayMs} ms, 4 calls at a time`)
      const shown = (/** @type {number} */ value) => `${value.toFixed(2)} s`
      return printTable(
        [
          'generation and rewards',
          'with delay',
          'without',
          'rewards alone',
          'added',
          'beyond generation',
          'hidden',
          'calls during generation',
        ],
        [
          {
            name: 'remote reward',
            cells: [
              ...[slow.seconds, fast.seconds, after, added, seconds.reward].map(shown),
              percent(hidden),
              percent(rewardOverlap),
            ],
            targets: [{ text: '>= 80 % hidden', holds: hidden >= 0.8 }],
          },
        ],
      )
    })
  } finally {
    server.close()
  }
}

async function advantages() {
  const { tokens, seconds } = await timeAdvantages()
  console.log(`\nfrom rewards to advantages, ${tokens.toLocaleString('en')} tokens, all steps switched on`)
  return printTable(
    ['estimator', 'time'],
    Object.entries(seconds).map(([name, took]) => ({
      name,
      cells: [ms(took)],
      targets: [{ text: 'under 0.3 s', holds: took < 0.3 }],
    })),
  )
}

/** Scoring of ragged samples packed and padded: the same numbers, without the rows that hold no token. */
async function packing() {
  const prompts = await makePrompts(tokenizer, 16, promptLength)
  const ragged = prompts.map((text, i) => text.slice(0, Math.ceil((text.length * (4 + i)) / 20)))
  const engine = { eosIds: endsAfter(48) }
  const scoring = (/** @type {Info} */ { seconds }) => seconds.actor + seconds.reference
  const run = (/** @type {boolean} */ packingSamples) =>
    withMaker({ engine, packingSamples, maxNewTokens: 192 }, async maker => {
      let best = await bestInfo(maker, ragged, 1)
      for (let i = 0; i < rounds; i++) {
        const info = await bestInfo(maker, ragged, 1)
        if (scoring(info) < scoring(best)) best = info
      }
      return best
    })
  const [packed, padded] = [await run(true), await run(false)]
  const saved = 1 - scoring(packed) / scoring(padded)
  const { min, p50, max } = packed.totalLength ?? { min: 0, p50: 0, max: 0 }
  console.log(`\n${packed.samples} samples of ${min} to ${max} tokens, half of them up to ${p50}`)
  return printTable(
    ['ragged lengths', 'rows avoided', 'scoring, packed', 'padded', 'time saved'],
    [
      {
        name: 'packing',
        cells: [percent(packed.paddingAvoided), ms(scoring(packed)), ms(scoring(padded)), percent(saved)],
        targets: [{ text: '>= 30 % of the rows', holds: packed.paddingAvoided >= 0.3 }],
      },
    ],
  )
}

/** Seconds per prompt from 16 to 256 prompts. */
async function growth() {
  const bound = 1.15
  const counts = [16, 64, 256]
  const all = await makePrompts(tokenizer, 256, promptLength)
  return withMaker({ ignoreEos: true, nSamplesPerPrompt: 4, maxNewTokens: 32 }, async maker => {
    await maker.makeExperienceList(all.slice(0, 16))
    const columns = Object.fromEntries(
      counts.map(count => [
        `${count}`,
        async () => (await maker.makeExperienceList(all.slice(0, count))).info.seconds.total / count,
      ]),
    )
    const found = await inTurns(columns, rounds)
    console.log('\n4 samples x 32 tokens for each prompt')
    return printTable(
      ['prompts', 'per prompt', 'of the smallest'],
      counts.map(count => {
        const ratio = found[`${count}`] / found[`${counts[0]}`]
        return {
          name: `${count}`,
          cells: [ms(found[`${count}`]), `${ratio.toFixed(2)}x`],
          targets: count === counts[0] ? [] : [{ text: `at most ${bound}x`, holds: ratio <= bound }],
        }
      }),
    )
  })
}

/** 32 completions of 64 tokens with log-probabilities of a reference: one batch here, generation and scoring of a GRPO step there. */
async function trl() {
  const python = process.env.WHETSTONE_PEER_PYTHON ?? 'python3'
  if (spawnSync(python, ['-c', 'import trl, torch'], { stdio: 'ignore' }).status !== 0) {
    console.log('\nno Python with trl found: the comparison is skipped')
    return true
  }
  const directory = join(scratch, 'model')
  await actor.export(directory, { what: 'model' })
  const prompts = await makePrompts(tokenizer, 4, promptLength)
  const work = { model: directory, tokenizer: tokenizer.dir, prompts, n: 8, tokens: 64 }
  const peer = new Peer(python, [fileURLToPath(new URL('./peer.py', import.meta.url))])
  try {
    return await withMaker({ ignoreEos: true }, async maker => {
      await maker.makeExperienceList(prompts)
      const best = await inTurns(
        {
          ours: async () => (await maker.makeExperienceList(prompts)).info.seconds.total,
          theirs: () => peer.measure(JSON.stringify(work)),
        },
        rounds,
      )
      const ratio = best.theirs && best.theirs / best.ours
      console.log('\n4 prompts x 8 samples x 64 tokens, generation and scoring, KL to a reference')
      return printTable(
        ['CPU', 'whetstone', 'TRL', 'ratio'],
        [
          {
            name: 'one batch',
            cells: [ms(best.ours), best.theirs ? ms(best.theirs) : '-', ratio ? `${ratio.toFixed(2)}x` : '-'],
            targets: [{ text: '>= 2.5x', holds: ratio === undefined ? undefined : ratio >= 2.5 }],
          },
        ],
      )
    })
  } finally {
    peer.close()
  }
}

const { libtorchVersion, threads } = backend()
console.log(`libtorch ${libtorchVersion}, ${threads} threads, float32, Qwen2 2.0M; best of ${rounds}`)
let kept = true
try {
  for (const [name, measure] of Object.entries({ stages, overlap, advantages, packing, growth, trl }))
    if (!only || only.includes(name)) kept = (await measure()) && kept
} finally {
  actor.dispose()
  reference.dispose()
  rmSync(scratch, { recursive: true, force: true })
}
if (options.check && !kept) process.exitCode = 1
