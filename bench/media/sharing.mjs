/** What images cost a model on the CPU, in a tiny shape: samples that share one, and batches of images and text, packed and padded. */
import { LocalModel } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { inTurns, printTable } from '../harness.mjs'
import { noise, sequenceOf, train, visionConfig } from './world.mjs'

const side = 448
const patches = (side / 14) ** 2
const samples = 8
let next = 0

/** @returns {Promise<boolean>} whether every promise is kept */
export async function measureSharing() {
  const model = await LocalModel.create(visionConfig('tiny'), { role: 'language', seed: 1 })
  const shared = await measureSamples(model)
  console.log('')
  const packed = await measurePacking(model)
  model.dispose()
  return shared && packed
}

/** @param {LocalModel<'language'>} model */
async function measureSamples(model) {
  const engine = new LocalEngine(model, { eosIds: [], maxSequences: samples, maxLength: 1024 })
  /** Seconds of `n` samples of each of `images` new images, and how many images the tower computed. @param {number} images @param {number} n */
  const run = async (images, n) => {
    const requests = Array.from({ length: images }, () => {
      const { ids, media } = sequenceOf(next, { text: 16, pixels: noise(next, side) })
      return { id: `${next++}`, n, promptIds: ids, media, sampling: { seed: 1, maxNewTokens: 8, ignoreEos: true } }
    })
    const before = model.vision?.computedPatches ?? 0
    const start = performance.now()
    for await (const outcome of engine.generate(requests))
      if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome))
    const seconds = (performance.now() - start) / 1e3
    return { seconds, computed: ((model.vision?.computedPatches ?? 0) - before) / patches }
  }
  const cases = [
    { name: '1 sample of 1 image', images: 1, n: 1 },
    { name: `${samples} samples of 1 image`, images: 1, n: samples },
    { name: `1 sample of each of ${samples} images`, images: samples, n: 1 },
  ]
  await run(1, samples)
  const columns = cases.map(({ name, images, n }) => [name, async () => (await run(images, n)).seconds])
  const found = await inTurns(Object.fromEntries(columns), 3)
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []
  for (const { name, images, n } of cases) {
    const { computed } = await run(images, n)
    rows.push({
      name,
      cells: [`${((found[name] ?? Number.NaN) * 1e3).toFixed(0)} ms`, `${computed}`],
      targets: n === samples ? [{ text: 'the tower computes 1 image', holds: computed === 1 }] : [],
    })
  }
  await engine.close()
  return printTable([`images of ${side} x ${side}, 8 tokens each`, 'time', 'images computed'], rows)
}

/** @param {LocalModel<'language'>} model */
async function measurePacking(model) {
  const lengths = Array.from({ length: 16 }, (_, i) => 24 + Math.floor(((i * 0.618034) % 1) * 400))
  const mixed = lengths.map((text, i) =>
    sequenceOf(i, { text, trained: 16, pixels: i % 2 === 0 ? noise(i % 8, 112) : undefined }),
  )
  const tokens = mixed.reduce((sum, { ids }) => sum + ids.length, 0)
  const works = {
    score: (/** @type {'on' | 'off'} */ packing) => model.score(mixed, { packing }),
    'a training step': (/** @type {'on' | 'off'} */ packing) => train(model, mixed, { packing }),
  }
  /** @type {import('../harness.mjs').Row[]} */
  const rows = []
  for (const [name, work] of Object.entries(works)) {
    /** @param {'on' | 'off'} packing */
    const timed = packing => async () => {
      const start = performance.now()
      await work(packing)
      return (performance.now() - start) / 1e3
    }
    for (const packing of /** @type {const} */ (['on', 'off'])) await work(packing)
    const { packed, padded } = await inTurns({ packed: timed('on'), padded: timed('off') }, 3)
    const rate = (/** @type {number} */ seconds) => `${(tokens / seconds).toFixed(0)} tok/s`
    rows.push({ name, cells: [rate(packed), rate(padded), (padded / packed).toFixed(2)], targets: [] })
  }
  return printTable(['8 sequences with an image, 8 of text', 'packed', 'padded', 'ratio'], rows)
}
