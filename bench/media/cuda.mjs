/**
 * A Qwen2.5-VL of the shape of 3B with random weights, in bfloat16 on a CUDA device. Images come as decoded pixels, 448 x 448: 1,024
 * patches, 256 tokens.
 *
 *   npm run bench:media:cuda [-- --rounds N] [--only generate,train]
 *   npm run bench:media:cuda -- --size tiny --device cpu    the same work in a shape that a CPU computes
 */
import { parseArgs } from 'node:util'
import { LocalModel } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { backend, memoryUse, synchronize } from 'whetstone/tensor'
import { inTurns, printTable } from '../harness.mjs'
import { noise, sequenceOf, train, visionConfig, weightsOf } from './world.mjs'

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: '3b' },
    device: { type: 'string', default: 'cuda' },
    rounds: { type: 'string', default: '2' },
    only: { type: 'string', default: 'generate,train' },
  },
})
const { cuda, libtorchVersion } = backend()
const device = /** @type {'cuda' | 'cpu'} */ (options.device)
if (device === 'cuda' && !cuda.available) {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const size = /** @type {import('./world.mjs').Size} */ (options.size)
const isTiny = size === 'tiny'
const rounds = Number(options.rounds)
const side = isTiny ? 112 : 448
const patches = (side / 14) ** 2
const tokensOfImage = patches / 4
const peakFlops = 989e12 // dense bfloat16 by the vendor's datasheet
const config = visionConfig(size)
const settings = /** @type {const} */ ({
  role: 'language',
  seed: 1,
  device,
  dtype: device === 'cuda' ? 'bfloat16' : 'float32',
})
const where = device === 'cuda' ? cuda.devices[0].name : 'CPU'
console.log(
  `Qwen2.5-VL ${size}, random weights, ${settings.dtype}, ${where}, libtorch ${libtorchVersion}; best of ${rounds}`,
)
console.log(`an image: ${side} x ${side}, ${patches} patches, ${tokensOfImage} tokens\n`)

const parts = options.only.split(',')
if (parts.includes('generate')) await generation()
if (parts.includes('train')) await training()
process.exit(0)

/** @param {number} number */
function show(number) {
  return number >= 1e4 ? `${(number / 1e3).toFixed(1)}k` : number.toFixed(0)
}

async function generation() {
  const [text, response] = isTiny ? [16, 4] : [64, 128]
  const model = await LocalModel.create(config, settings)
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []
  let next = 0
  for (const concurrent of isTiny ? [2, 4] : [64, 256])
    for (const kind of /** @type {const} */ (['1 image each', '8 samples of each image', 'text of that length'])) {
      const samples = kind === '8 samples of each image' ? Math.min(8, concurrent) : 1
      const length = text + tokensOfImage + 2 + response
      const engine = new LocalEngine(model, { maxSequences: concurrent, maxLength: length, eosIds: [] })
      /** Images and prompts that no run had before. @param {number} count @param {number} tokens */
      const run = async (count, tokens) => {
        const requests = Array.from({ length: count / samples }, () => {
          const number = next++
          const { ids, media } = kind.startsWith('text')
            ? sequenceOf(number, { text: text + tokensOfImage + 2 })
            : sequenceOf(number, { text, pixels: noise(number, side) })
          const sampling = { seed: 1, maxNewTokens: tokens, ignoreEos: true }
          return { id: `${number}`, n: samples, promptIds: ids, media, sampling }
        })
        const start = performance.now()
        for await (const outcome of engine.generate(requests))
          if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome))
        return (performance.now() - start) / 1e3
      }
      for (let i = 0; i < 2; i++) await run(concurrent, response)
      const found = await inTurns({ whole: () => run(concurrent, response), first: () => run(concurrent, 1) }, rounds)
      const before = model.vision?.computedPatches ?? 0
      await run(concurrent, 1)
      await engine.close()
      rows.push({
        name: `${concurrent} sequences, ${kind}`,
        cells: [
          show((concurrent * response) / found.whole),
          `${(found.first * 1e3).toFixed(0)} ms`,
          `${(((found.whole - found.first) / (response - 1)) * 1e3).toFixed(2)} ms`,
          `${((model.vision?.computedPatches ?? 0) - before) / patches}`,
        ],
        targets: [],
      })
    }
  model.dispose()
  printTable([`generation, ${response} tokens each`, 'tokens/s', 'first token', 'a step', 'images computed'], rows)
  console.log('')
}

async function training() {
  const [count, text, trained] = isTiny ? [4, 24, 8] : [32, 254, 192]
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []
  const { token, logits, patch, attention } = weightsOf(size)
  let next = 1e6
  const cases = /** @type {const} */ ([
    { name: 'whole model trained', freezeVision: undefined, images: 'new' },
    { name: 'tower frozen, images seen first', freezeVision: 'all', images: 'new' },
    { name: 'tower frozen, images seen before', freezeVision: 'all', images: 'same' },
  ])
  /** @type {{ freezeVision: 'all' | undefined, model: LocalModel<'language'> } | undefined} */
  let held
  for (const { name, freezeVision, images } of cases) {
    if (!held || held.freezeVision !== freezeVision) {
      held?.model.dispose()
      const freeze = freezeVision ? { freezeVision } : {}
      const model = await LocalModel.create(config, { ...settings, ...freeze, gradientCheckpointing: true })
      held = { freezeVision, model }
    }
    const { model } = held
    const batch = () =>
      Array.from({ length: count }, () => sequenceOf(next++, { text, trained, pixels: noise(next, side) }))
    const first = batch()
    for (let i = 0; i < 2; i++) await train(model, images === 'same' ? first : batch())
    memoryUse(device, { resetPeak: true })
    const measure = async () => {
      const sequences = images === 'same' ? first : batch()
      if (device === 'cuda') await synchronize()
      const start = performance.now()
      await train(model, sequences)
      if (device === 'cuda') await synchronize()
      return (performance.now() - start) / 1e3
    }
    const { seconds } = await inTurns({ seconds: measure }, rounds + 1)
    const [length] = first.map(({ ids }) => ids.length)
    // Forward and backward of what is trained, without what checkpoints compute again; forward alone of a frozen tower.
    const textFlops = 6 * token * length + 6 * logits * trained + 6 * attention.token * length ** 2
    const { full, depth } = attention
    const tower = patch + 2 * attention.patch * (full * patches + (depth - full) * Math.min(64, patches))
    const passes = freezeVision === undefined ? 6 : images === 'new' ? 2 : 0
    const flops = count * (textFlops + passes * tower * patches)
    rows.push({
      name,
      cells: [
        `${show((count * length) / seconds)}`,
        (count / seconds).toFixed(1),
        `${((100 * flops) / seconds / peakFlops).toFixed(1)} %`,
        `${(memoryUse(device).peakBytes / 2 ** 30).toFixed(0)} GiB`,
      ],
      targets: [],
    })
  }
  held?.model.dispose()
  printTable([`a training step, ${count} sequences`, 'tokens/s', 'images/s', 'MFU', 'peak'], rows)
}
