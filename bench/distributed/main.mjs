/**
 * What several ranks cost and give, on the CPU with gloo:
 *
 *   npm run bench:distributed            a few minutes on two quiet cores
 *   npm run bench:distributed -- --quick
 *
 * It prints: two ranks of one thread against one process of two; the share of a step that is communication and waiting, beside the
 * floor that the bytes set; what it would save to reduce gradients beside a backward pass; the imbalance of shards of ragged lengths;
 * what the controller does per token; and from these where the controller, the store and the network saturate at 8, 64 and 1,024 GPUs.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { LocalModel, newConfig } from 'whetstone/model'
import { Tensor, threads } from 'whetstone/tensor'
import { DistributedModel, imbalance, measureRanks, planShards, World } from '#whetstone/distributed'
import { cpuTimer } from '#whetstone/watchdog'
import { saturation } from './saturation.mjs'

const { values: given } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const rounds = given.quick ? 2 : 3

/** @typedef {import('whetstone/model').TokenModel<'language'>} Model */

/** Shapes by their parameters. */
const shapes = {
  '0.5M': { hidden: 96, layers: 3, vocab: 1000 },
  '4M': { hidden: 256, layers: 4, vocab: 2000 },
  '20M': { hidden: 512, layers: 6, vocab: 4000 },
}

/** @param {keyof typeof shapes} name */
async function directoryOf(name) {
  const { hidden, layers, vocab } = shapes[name]
  const config = newConfig(
    'qwen2',
    {
      ...{ hidden, layers, vocabSize: vocab, intermediate: 3 * hidden, heads: hidden / 32, kvHeads: hidden / 32 },
      ...{ headDim: 32, context: 4096, tied: true },
    },
    { bos: 1, eos: 2, pad: 0 },
  )
  const model = await LocalModel.create(config, { seed: 1, role: 'language' })
  const directory = join(scratch, name)
  await model.export(directory, { what: 'model' })
  model.dispose()
  return directory
}

/** Ragged lengths with a long tail, always the same. @param {number} count @param {number} mean @returns {number[]} */
function raggedLengths(count, mean) {
  let state = 12_345
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
  return Array.from({ length: count }, () => {
    const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
    return Math.max(4, Math.min(8 * mean, Math.round(mean * Math.exp(0.6 * normal - 0.18))))
  })
}

/** @param {Model} model @param {Int32Array[]} sequences */
async function step(model, sequences) {
  await model.forwardBackward(sequences, outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -0.01) })),
  )
  await model.step({ lr: 1e-4, clipNorm: 1 })
}

/** The fastest of some rounds. @param {() => Promise<unknown>} work */
async function fastest(work) {
  await work()
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    await work()
    best = Math.min(best, performance.now() - started)
  }
  return best / 1000
}

/**
 * The most that an overlap could save: all gradients are reduced while a pass runs, from its first moment on.
 * @param {DistributedModel<'language'>} model @param {Int32Array[]} sequences
 */
async function overlap(model, sequences) {
  const numbers = new Float32Array(gradientNumbers)
  const own = Tensor.from(numbers, { shape: [numbers.length], dtype: 'float32', device: 'cpu' })
  const pass = () =>
    model.forwardBackward(sequences, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -0.01) })),
    )
  const reduce = () => Promise.all([world.group.allReduce(own), world.askOthers('bench.allReduce', numbers.length)])
  const passed = async (/** @type {() => Promise<unknown>} */ work) => {
    const seconds = await fastest(async () => {
      await work()
      model.zeroGrad()
    })
    return seconds
  }
  const times = {
    pass: await passed(pass),
    reduce: await fastest(reduce),
    both: await passed(() => Promise.all([pass(), reduce()])),
  }
  own.dispose()
  return times
}
/** Of the largest shape. */
const gradientNumbers = 20_000_000
/** @type {{ tokens: number, pass: number, reduce: number, both: number }[]} */
const overlaps = []

/** @param {number} size */
async function openWorld(size) {
  const server = createServer()
  await new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise(resolve => server.close(resolve))
  const host = '127.0.0.1'
  /** @param {number} rank @returns {import('#whetstone/distributed').RankOptions} */
  const options = rank => ({
    ...{ rank, size, address: host, device: 'cpu', backend: 'gloo', job: 'bench' },
    store: { host, port, served: rank === 0 ? 'here' : 'elsewhere' },
  })
  const script = fileURLToPath(new URL('./rank.mjs', import.meta.url))
  for (let rank = 1; rank < size; rank++)
    spawn(process.execPath, [script, JSON.stringify(options(rank))], { stdio: ['ignore', 'inherit', 'inherit'] })
  return World.open(options(0))
}

/** @param {number} value */
const percent = value => `${(100 * value).toFixed(1)} %`

const scratch = mkdtempSync(join(tmpdir(), 'whetstone-bench-'))
const world = await openWorld(2)
try {
  const { allReduce } = await measureRanks(world)
  const bandwidth = allReduce.bytes / allReduce.seconds
  console.log(`all-reduce over gloo on loopback: ${(bandwidth / 1e9).toFixed(2)} GB/s of gradients\n`)

  console.log(
    'model  tokens per rank  two ranks  one process, two threads  ratio  communication and waiting  floor of the bytes',
  )
  for (const name of /** @type {(keyof typeof shapes)[]} */ (Object.keys(shapes))) {
    const directory = await directoryOf(name)
    for (const tokens of given.quick ? [512] : [256, 1024, 4096]) {
      const lengths = raggedLengths(Math.max(4, Math.round((2 * tokens) / 128)), 128)
      const total = lengths.reduce((sum, one) => sum + one, 0)
      const sequences = lengths.map((length, i) => Int32Array.from({ length }, (_, t) => 3 + ((i + 7 * t) % 900)))
      threads(1)
      const two = await DistributedModel.load(world, directory, { role: 'language', dtype: 'float32' })
      const before = { ...world.group.use }
      const seconds = await fastest(() => step(two, sequences))
      const use = world.group.use
      const steps = rounds + 1
      const share = (use.seconds - before.seconds) / steps / seconds
      const floor = (use.bytes - before.bytes) / steps / bandwidth / seconds
      if (name === '20M' && tokens <= 1024)
        overlaps.push({ tokens: Math.round(total / 2), ...(await overlap(two, sequences)) })
      two.dispose()
      threads(2)
      const one = await LocalModel.load(directory, { role: 'language', dtype: 'float32' })
      const alone = await fastest(() => step(/** @type {Model} */ (one), sequences))
      one.dispose()
      const rate = (/** @type {number} */ s) => `${Math.round(total / s)} tokens/s`
      console.log(
        `${name.padEnd(6)} ${String(Math.round(total / 2)).padEnd(16)} ${rate(seconds).padEnd(16)} ${rate(alone).padEnd(16)} ${(alone / seconds).toFixed(2)}  ${percent(share)}  ${percent(floor)}`,
      )
    }
  }

  console.log('\na pass (forward and backward) of the largest model, and an all-reduce of its gradients')
  for (const { tokens, pass, reduce, both } of overlaps)
    console.log(
      `${tokens} tokens per rank: pass ${pass.toFixed(3)} s, all-reduce ${reduce.toFixed(3)} s, one after the other ${(pass + reduce).toFixed(3)} s, at the same time ${both.toFixed(3)} s: ${percent(1 - both / (pass + reduce))} less`,
    )

  console.log('\nimbalance of shards (how much more than the mean the busiest rank has)')
  for (const [ranks, batch] of [
    [2, 64],
    [8, 256],
    [64, 2048],
    [1024, 32_768],
  ]) {
    const lengths = raggedLengths(batch ?? 0, 512)
    const started = performance.now()
    const shards = planShards(lengths, { ranks: ranks ?? 1 })
    const ms = performance.now() - started
    console.log(
      `${ranks} ranks, ${batch} sequences: ${percent(imbalance(lengths, shards))}, planned in ${ms.toFixed(1)} ms`,
    )
  }

  // The tiny model computes next to nothing: what is left is the controller's work.
  threads(1)
  const tiny = await DistributedModel.load(world, await directoryOf('0.5M'), { role: 'language', dtype: 'float32' })
  const lengths = raggedLengths(64, 256)
  const sequences = lengths.map((length, i) => Int32Array.from({ length }, (_, t) => 3 + ((i + 7 * t) % 900)))
  const total = lengths.reduce((sum, one) => sum + one, 0)
  await step(tiny, sequences)
  const peer = world.peers[0]
  if (!peer) throw new Error('two ranks are needed')
  const [bytes, used] = [peer.bytes, cpuTimer()]
  for (let round = 0; round < rounds; round++) {
    await tiny.score(sequences)
    await step(tiny, sequences)
  }
  const controller = {
    microseconds: (1000 * used()) / rounds / total,
    bytes: (peer.bytes - bytes) / rounds / (total / 2),
  }
  tiny.dispose()
  console.log(
    `\nthe controller, per token of an iteration (a score and a training pass): ${controller.microseconds.toFixed(2)} us of its thread, ${controller.bytes.toFixed(1)} bytes on the wire`,
  )
  console.log(`\n${saturation(controller)}`)
} finally {
  await world.close()
  rmSync(scratch, { recursive: true, force: true })
}
