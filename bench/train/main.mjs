/**
 * Trainings of a 2.0M model on the CPU, from their configs to their run directories: a GRPO step, supervised fine-tuning and DPO
 * against TRL's trainers in turns on the same machine; where a step's time goes, how it grows, and what the run directory costs.
 *
 *   npm run bench:train [-- --check] [--rounds N] [--only trl,stages,growth,overhead]
 *
 * WHETSTONE_PEER_PYTHON names a Python that has trl.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { backend } from 'whetstone/tensor'
import { inTurns, median, Peer, printTable } from '../harness.mjs'
import { preferenceSteps, rlSteps, sftSteps } from './jobs.mjs'
import { watchRunDirectory } from './run-directory.mjs'
import { makeWorld, withEnds } from './world.mjs'

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, rounds: { type: 'string' }, only: { type: 'string' } },
})
const rounds = Number(options.rounds ?? 3)
const only = options.only?.split(',')
const measured = 4
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
const world = await makeWorld(scratch)
/** Where lengths are ragged: a response ends after 64 tokens on average, and after 192 in any case. */
const raggedModel = await withEnds(world, 64)

const ms = (/** @type {number} */ seconds) => `${(1e3 * seconds).toFixed(1)} ms`
const rate = (/** @type {number} */ seconds) => `${(1 / seconds / 1e3).toFixed(2)}k tok/s`
const sum = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0)

const equalGrpo = {
  model: world.model,
  data: world.prompts,
  rewards: world.reward,
  algorithm: 'grpo',
  rolloutBatchSize: 4,
  nSamplesPerPrompt: 8,
  maxNewTokens: 64,
  ignoreEos: true,
  iterations: measured + 1,
}
const raggedGrpo = {
  ...equalGrpo,
  model: raggedModel,
  data: world.raggedPrompts,
  maxNewTokens: 192,
  ignoreEos: false,
}
const sft = { model: world.model, data: world.texts, batchSize: 32, epochs: 2 }
const dpo = { model: world.model, data: world.pairs, batchSize: 16, epochs: 2 }

/** Seconds of a step. @param {import('./jobs.mjs').Step[]} steps */
const stepSeconds = steps => median(steps.map(({ seconds }) => seconds))
/** Seconds of a token. @param {import('./jobs.mjs').Step[]} steps */
const tokenSeconds = steps => sum(steps.map(({ seconds }) => seconds)) / sum(steps.map(({ tokens }) => tokens))
/** The second of two epochs. @param {import('./jobs.mjs').Step[]} steps */
const lastEpoch = steps => steps.slice(-(steps.length + 1) / 2)

async function dpoSeconds() {
  const { steps, reference } = await preferenceSteps(world, dpo)
  const epoch = lastEpoch(steps)
  const own = tokenSeconds(epoch)
  return { own, withReference: own + reference / sum(epoch.map(({ tokens }) => tokens)) }
}

/** Each of ours beside TRL's, in turns. */
async function trl() {
  const peer = startTrl()
  const grpo = (/** @type {object} */ more) => ({ kind: 'grpo', batch: 32, n: 8, steps: measured, ...more })
  const rows = [
    {
      name: 'GRPO step, 32 x 64 tokens',
      show: ms,
      target: 2.5,
      ours: async () => stepSeconds(await rlSteps(world, equalGrpo)),
      theirs: grpo({ model: world.model, data: world.prompts, tokens: 64, equal: true }),
    },
    {
      name: 'GRPO, 32 of ragged lengths',
      show: rate,
      target: 4,
      ours: async () => tokenSeconds(await rlSteps(world, raggedGrpo)),
      theirs: grpo({ model: raggedModel, data: world.raggedPrompts, tokens: 192, equal: false }),
    },
    {
      name: 'SFT, ragged rows',
      show: rate,
      target: 2.5,
      ours: async () => tokenSeconds(lastEpoch(await sftSteps(world, sft))),
      theirs: { kind: 'sft', model: world.model, data: world.texts, batch: 32, packing: false, length: 512 },
    },
    {
      name: 'SFT, TRL packs',
      show: rate,
      target: 2.5,
      ours: async () => tokenSeconds(lastEpoch(await sftSteps(world, sft))),
      theirs: { kind: 'sft', model: world.model, data: world.texts, batch: 16, packing: true, length: 256 },
    },
    {
      name: 'DPO, ragged pairs',
      show: rate,
      target: 2,
      ours: async () => (await dpoSeconds()).withReference,
      theirs: { kind: 'dpo', model: world.model, data: world.pairs, batch: 16, precompute: false },
    },
    {
      name: 'DPO, reference known before',
      show: rate,
      target: 2,
      ours: async () => (await dpoSeconds()).own,
      theirs: { kind: 'dpo', model: world.model, data: world.pairs, batch: 16, precompute: true },
    },
  ]
  try {
    const lines = []
    for (const { name, show, target, ours, theirs } of rows) {
      const best = await inTurns({ ours, theirs: peer && (() => peer.measure(JSON.stringify(theirs))) }, rounds)
      const ratio = best.theirs === undefined ? undefined : best.theirs / best.ours
      const cells = [
        show(best.ours),
        best.theirs === undefined ? '-' : show(best.theirs),
        ratio === undefined ? '-' : `${ratio.toFixed(2)}x`,
      ]
      lines.push({
        name,
        cells,
        targets: [{ text: `>= ${target}x`, holds: ratio === undefined ? undefined : ratio >= target }],
      })
    }
    console.log('')
    return printTable(['CPU', 'whetstone', 'TRL', 'ratio'], lines)
  } finally {
    peer?.close()
  }
}

function startTrl() {
  const python = process.env.WHETSTONE_PEER_PYTHON ?? 'python3'
  const version = spawnSync(python, ['-c', 'import trl, torch; print(trl.__version__)'], { encoding: 'utf8' })
  if (version.status !== 0) {
    console.log('\nno Python with trl found: its column is empty')
    return undefined
  }
  console.log(`\nTRL ${version.stdout.trim()}`)
  return new Peer(python, [fileURLToPath(new URL('./peer.py', import.meta.url))])
}

/** The stages of the least disturbed run of several. */
async function stages() {
  let ok = true
  for (const [name, config] of Object.entries({ equal: equalGrpo, ragged: raggedGrpo })) {
    /** @type {import('./jobs.mjs').Step[]} */
    let best = []
    for (let i = 0; i < rounds; i++) {
      const steps = await rlSteps(world, config)
      if (best.length === 0 || sum(steps.map(one => one.seconds)) < sum(best.map(one => one.seconds))) best = steps
    }
    const mean = (/** @type {(step: import('./jobs.mjs').Step) => number} */ of) => sum(best.map(of)) / best.length
    const whole = mean(({ seconds }) => seconds)
    const shown = Object.keys(best[0].values).filter(key => key.startsWith('seconds/') && key !== 'seconds/total')
    console.log(`\nGRPO, 32 samples, ${name} lengths: ${ms(whole)} a step`)
    const model = ['seconds/generation', 'seconds/actor', 'seconds/reference', 'seconds/critic', 'seconds/update']
    const rest = whole - sum(model.map(key => mean(({ values }) => values[key] ?? 0)))
    ok =
      printTable(
        ['stage', 'time', 'share'],
        [
          ...shown.map(key => {
            const took = mean(({ values }) => values[key])
            return { name: key.slice(8), cells: [ms(took), `${((100 * took) / whole).toFixed(2)} %`], targets: [] }
          }),
          {
            name: 'neither generation, scoring nor update',
            cells: [ms(rest), `${((100 * rest) / whole).toFixed(2)} %`],
            targets: [{ text: 'under 5 %', holds: rest / whole < 0.05 }],
          },
        ],
      ) && ok
  }
  return ok
}

/** Seconds per sample over the number of samples, and per token over the length of responses. */
async function growth() {
  /** @param {string} head @param {number[]} sizes @param {(size: number) => object} config @param {number} bound */
  const table = async (head, sizes, config, bound) => {
    const columns = Object.fromEntries(
      sizes.map(size => [
        `${size}`,
        async () => stepSeconds(await rlSteps(world, { ...equalGrpo, iterations: 4, ...config(size) })) / size,
      ]),
    )
    const found = await inTurns(columns, rounds)
    console.log('')
    return printTable(
      [head, 'step', 'each', 'of the smallest'],
      sizes.map(size => {
        const ratio = found[`${size}`] / found[`${sizes[0]}`]
        return {
          name: `${size}`,
          cells: [ms(found[`${size}`] * size), ms(found[`${size}`]), `${ratio.toFixed(2)}x`],
          targets: size === sizes[0] ? [] : [{ text: `at most ${bound}x`, holds: ratio <= bound }],
        }
      }),
    )
  }
  const samples = await table('samples of 64 tokens', [16, 32, 64, 128], n => ({ rolloutBatchSize: n / 8 }), 1.15)
  const lengths = await table('tokens of 32 samples', [64, 128, 256, 512], n => ({ maxNewTokens: n }), 1.15)
  return samples && lengths
}

/** What journal, metrics and checkpoints take of a step, at the most. */
async function overhead() {
  const rows = []
  for (const [name, run] of Object.entries({
    GRPO: () => rlSteps(world, { ...equalGrpo, iterations: 8 }),
    SFT: () => sftSteps(world, { ...sft, epochs: 3 }),
    DPO: async () => (await preferenceSteps(world, { ...dpo, epochs: 3 })).steps,
  })) {
    const watch = watchRunDirectory()
    const steps = await run()
    const { writing, checkpoint } = watch.stop()
    const step = stepSeconds(steps)
    const every = 100
    const share = (writing / (steps.length + 1) + checkpoint / every) / step
    rows.push({
      name,
      cells: [ms(step), ms(writing / (steps.length + 1)), ms(checkpoint), `${(100 * share).toFixed(2)} %`],
      targets: [{ text: 'under 3 %', holds: share < 0.03 }],
    })
  }
  console.log('\na checkpoint every 100 steps, as is the default')
  return printTable(['run directory', 'step', 'journal and metrics', 'a checkpoint', 'share of a step'], rows)
}

const { libtorchVersion, threads } = backend()
console.log(`libtorch ${libtorchVersion}, ${threads} threads, float32, Qwen2 2.0M; best of ${rounds}`)
let kept = true
try {
  for (const [name, measure] of Object.entries({ trl, stages, growth, overhead }))
    if (!only || only.includes(name)) kept = (await measure()) && kept
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
if (options.check && !kept) process.exitCode = 1
