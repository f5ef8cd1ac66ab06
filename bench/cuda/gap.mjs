/**
 * How far the engine's and the trainer's log-probabilities of the same tokens are apart in bfloat16, and each of the two from the
 * same weights in float32: 32 prompts of 128 tokens, 8 responses of 64 to 512 tokens each. Weights are random; `--sharp F` makes
 * the last norm's weight F times as large, and so the logits: as those of trained models are, tens instead of ones.
 *
 *   node bench/cuda/gap.mjs [--size 0.5b,1.5b] [--sharp 1,8] [--prompts N] [--residual weights,float32]
 */
import { parseArgs } from 'node:util'
import { LocalModel, newConfig, sizes } from 'whetstone/model'
import { LocalEngine } from 'whetstone/rollout'
import { backend, noGrad } from 'whetstone/tensor'
import { printTable } from '../harness.mjs'

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: '0.5b' },
    sharp: { type: 'string', default: '1,8' },
    prompts: { type: 'string', default: '32' },
    residual: { type: 'string', default: 'weights,float32' },
  },
})
const { cuda, libtorchVersion } = backend()
if (!cuda.available) {
  console.log('no CUDA device: nothing to measure')
  process.exit(0)
}
const vocabSize = 151936
const [promptCount, samples, promptLength] = [Number(options.prompts), 8, 128]

/** @param {Float32Array[]} a @param {Float32Array[]} b */
function distance(a, b) {
  let [sum, most, count] = [0, 0, 0]
  for (const [i, values] of a.entries())
    for (const [t, value] of values.entries()) {
      const gap = Math.abs(value - b[i][t])
      sum += gap
      most = Math.max(most, gap)
      count++
    }
  return { mean: sum / count, most }
}

/** @param {ReturnType<typeof distance>} found */
const show = ({ mean, most }) => [mean.toExponential(2), most.toExponential(2)]

/** @param {keyof typeof sizes} size @param {number} sharp @param {string} residual */
async function measure(size, sharp, residual) {
  const config = newConfig('qwen2', { ...sizes[size], vocabSize })
  const settings = /** @type {const} */ ({ role: 'language', seed: 1, device: 'cuda' })
  const create = async (/** @type {'bfloat16' | 'float32'} */ dtype) => {
    const wide = /** @type {const} */ ({ residualDtype: 'float32' })
    const model = await LocalModel.create(config, { ...settings, dtype, ...(residual === 'float32' ? wide : {}) })
    noGrad(() => model.parts.weights.get('model.norm.weight')?.fill_(sharp))
    return model
  }
  const model = await create('bfloat16')
  const engine = new LocalEngine(model, { maxSequences: promptCount * samples, maxLength: promptLength + 512 })
  const requests = Array.from({ length: promptCount }, (_, k) => ({
    id: `${k}`,
    n: samples,
    promptIds: Int32Array.from({ length: promptLength }, (_, i) => (i * 7919 + k * 104729 + 1299709) % vocabSize),
    sampling: { seed: 1, maxNewTokens: 64 + Math.floor(((k * 0.618034) % 1) * 449), ignoreEos: true },
  }))
  /** @type {Int32Array[]} */
  const sequences = []
  /** @type {Float32Array[]} */
  const engineLogprobs = []
  for await (const outcome of engine.generate(requests)) {
    if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome))
    const { promptIds } = requests[Number(outcome.requestId)]
    sequences.push(Int32Array.of(...promptIds, ...outcome.responseIds))
    engineLogprobs.push(Float32Array.from(/** @type {Float32Array} */ (outcome.logprobs.processed)))
  }
  await engine.close()
  const scoreOf = async (/** @type {LocalModel<'language'>} */ scorer) =>
    (await scorer.score(sequences)).map(({ logprobs }) => logprobs.slice(promptLength - 1))
  const trainer = await scoreOf(model)
  const exactModel = await create('float32')
  // The same numbers, not the ones that were rounded.
  noGrad(() => {
    for (const [name, tensor] of exactModel.parts.weights)
      tensor.copy_(/** @type {import('whetstone/tensor').Tensor} */ (model.parts.weights.get(name)))
  })
  const exact = await scoreOf(exactModel)
  exactModel.dispose()
  model.dispose()
  const count = trainer.reduce((sum, { length }) => sum + length, 0)
  const mean = trainer.reduce((sum, values) => sum + values.reduce((a, b) => a + b, 0), 0) / count
  return {
    name: `${size}, logits x ${sharp}, residual in ${residual === 'float32' ? 'float32' : 'bfloat16'}`,
    cells: [
      `${count}`,
      mean.toFixed(2),
      ...show(distance(engineLogprobs, trainer)),
      ...show(distance(engineLogprobs, exact)),
      ...show(distance(trainer, exact)),
    ],
    targets: [],
  }
}

console.log(`bfloat16, ${cuda.devices[0].name}, libtorch ${libtorchVersion}\n`)
const rows = []
for (const size of options.size.split(','))
  for (const sharp of options.sharp.split(','))
    for (const residual of options.residual.split(','))
      rows.push(await measure(/** @type {keyof typeof sizes} */ (size), Number(sharp), residual))
printTable(
  [
    'model',
    'tokens',
    'mean log-prob',
    'gap, mean',
    'max',
    'engine to float32, mean',
    'max',
    'trainer to float32, mean',
    'max',
  ],
  rows,
)
