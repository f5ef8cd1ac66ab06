/** The factors of the matrix of combinations, and the world its runs live in: models of some thousand weights, and servers of them. */
import { advantageEstimators } from '../../../src/maths/index.js'
import { initModel, LocalModel, newConfig } from '../../../src/model/index.js'
import { MIN_VOCAB_SIZE, Tokenizer, trainTokenizer } from '../../../src/text/index.js'
import { algorithmNames } from '../../../src/train/rl/algorithms.js'
import { atEnd } from '../../support/at-end.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { ToyTransformer } from '../../support/doubles/toy-transformer.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { fresh, written } from '../../support/files.js'

export type Options = Readonly<Record<string, unknown>>
export interface Factor {
  readonly name: string
  /** By their names; the first one asks for nothing. */
  readonly levels: Readonly<Record<string, Options>>
}

const context = 48
const shape = { hidden: 8, intermediate: 12, layers: 1, heads: 2, kvHeads: 1, headDim: 4, context, tied: false }

const corpus = written('corpus.txt', 'Question Question Question 0 1 2 3 4 5 6 7:\n')
const tokenizerDirectory = fresh('tokenizer')
await trainTokenizer({ files: [corpus], vocabSize: MIN_VOCAB_SIZE, out: tokenizerDirectory })
const { bosId, eosId, padId } = await Tokenizer.load(tokenizerDirectory)

async function tinyModel(seed: number): Promise<string> {
  const config = newConfig('qwen2', { ...shape, vocabSize: toyVocabSize })
  const tokens = { bos: bosId, eos: eosId, pad: padId }
  const out = fresh('tiny')
  const wide = { ...config, decoder: { ...config.decoder, initRange: 0.3 } }
  await initModel({ config: wide, seed, dtype: 'float32', tokenizer: tokenizerDirectory, tokens, out })
  return out
}

/** Trained from here. */
export const policy = await tinyModel(1)
const reference = await tinyModel(2)

async function rewardModel(): Promise<string> {
  const model = await LocalModel.load(reference, { role: 'reward' })
  const out = fresh('reward-model')
  await model.export(out, { what: 'model' })
  model.dispose()
  return out
}

/** Different for all samples of a prompt; of every third prompt the same, so that dynamic sampling has something to drop. */
const functionReward = written(
  'reward.mjs',
  `export default ({ response, sample, row }) => (row.nr % 3 === 0 ? 1 : response.length / 8 + sample / 3)\n`,
)
const modelReward = written('rewards.yaml', `sources: { taste: { type: model, path: ${await rewardModel()} } }\n`)

const prompts = written(
  'prompts.jsonl',
  Array.from({ length: 7 }, (_, nr) => `${JSON.stringify({ prompt: `Question ${nr}:`, nr })}\n`).join(''),
)
const demonstrations = written(
  'demonstrations.jsonl',
  ['a', 'b', 'c'].map(text => `${JSON.stringify({ prompt: `${text}?`, completion: text })}\n`).join(''),
)

const vllm = new VllmServer({ logprobs: 'processed' })
const sglang = new SglangServer({ flags: ['enable-deterministic-inference', 'enable-memory-saver'] })
for (const server of [vllm, sglang]) {
  await server.start()
  atEnd(() => server.stop())
}

/** A server is started with the weights that training begins with, in the dtype that they are trained in. */
export async function startServersAnew(directory: string): Promise<void> {
  for (const server of [vllm, sglang]) {
    await server.restart()
    server.engine.weights = ToyTransformer.read(directory)!
  }
}
const serverWeights = fresh('weights')

const served = (type: string, { url }: { url: string }): Options => ({
  generator: { type, urls: [url], weightsDirectory: serverWeights, patienceMinutes: 0.2 },
})

const named = (names: readonly string[], option: string): Record<string, Options> =>
  Object.fromEntries(names.map(name => [name, { [option]: name }]))

const kl = (kind: 'fixed' | 'adaptive', useKlLoss: boolean): Options => ({
  useKlLoss,
  klController: kind === 'fixed' ? { kind, coef: 0.05 } : { kind, coef: 0.05, target: 0.01 },
})

/** `grpo` is another name of `group_norm`. */
const estimators = ['group_norm', ...advantageEstimators.filter(name => name !== 'group_norm' && name !== 'grpo')]

export const factors: readonly Factor[] = [
  { name: 'preset', levels: named(['grpo', ...algorithmNames.filter(name => name !== 'grpo')], 'algorithm') },
  { name: 'estimator', levels: named(estimators, 'advantageEstimator') },
  {
    name: 'KL',
    levels: {
      preset: {},
      none: { useKlLoss: false, klController: { kind: 'fixed', coef: 0 } },
      'in rewards': kl('fixed', false),
      'as a loss': kl('fixed', true),
      'adaptive in rewards': kl('adaptive', false),
      'adaptive as a loss': kl('adaptive', true),
    },
  },
  { name: 'engine', levels: { local: {}, vLLM: served('vllm', vllm), SGLang: served('sglang', sglang) } },
  { name: 'sleep', levels: { off: {}, on: { enableEngineSleep: true } } },
  { name: 'packing', levels: { on: {}, off: { packingSamples: false } } },
  {
    name: 'adapter',
    levels: { none: {}, LoRA: { lora: { rank: 2 } }, 'LoRA with dropout': { lora: { rank: 2, dropout: 0.2 } } },
  },
  {
    name: 'critic',
    levels: {
      default: {},
      own: { critic: { model: reference, valueClip: null } },
      warm: { critic: { warmupIterations: 1 } },
    },
  },
  { name: 'reference', levels: { default: {}, directory: { reference }, 'adapter-off': { reference: 'adapter-off' } } },
  {
    name: 'sampling',
    levels: {
      plain: {},
      cool: { temperature: 0.7 },
      topK: { topK: 20 },
      topP: { topP: 0.9 },
      FIRE: { useFire: true, firstTokenTemperature: 1.5 },
    },
  },
  { name: 'dynamic sampling', levels: { preset: {}, on: { dynamicSampling: true } } },
  { name: 'TIS', levels: { off: {}, on: { tisCap: 2 } } },
  { name: 'high entropy', levels: { off: {}, on: { highEntropyTokenRatio: 0.4 } } },
  { name: 'moving average', levels: { off: {}, on: { emaDecay: 0.9 } } },
  { name: 'ptx', levels: { off: {}, on: { ptx: { data: demonstrations, batchSize: 2 } } } },
  { name: 'staleness', levels: { none: {}, one: { maxStaleness: 1 } } },
  { name: 'dtype', levels: { float32: {}, bfloat16: { dtype: 'bfloat16' } } },
  { name: 'masters', levels: { dither: {}, exact: { optimizer: { lr: 1e-2, masters: 'exact' } } } },
  { name: 'form', levels: { free: {}, held: { structured: { kind: 'regex', pattern: '[^:]*' } } } },
  {
    name: 'updates',
    levels: {
      one: {},
      halves: { trainBatchSize: 2 },
      twice: { updateEpochs: 2 },
      'twice at most': { updateEpochs: 2, targetKl: 1e-4 },
    },
  },
  { name: 'samples', levels: { two: {}, one: { nSamplesPerPrompt: 1 } } },
  { name: 'rewards', levels: { function: {}, model: { rewards: modelReward } } },
  {
    name: 'reward processing',
    levels: {
      none: {},
      overlong: { overlongBuffer: true, overlongBufferLen: 2 },
      running: { rewardRunningNorm: true, rewardRunningNormMinusMean: true },
      clips: { rewardClip: 0.5, advantageClip: 0.5 },
      whitened: { advantagesNorm: true },
    },
  },
  { name: 'entropy bonus', levels: { off: {}, on: { entropyCoef: 0.01 } } },
  { name: 'evaluation', levels: { off: {}, on: { validationShare: 0.3, evaluation: { every: 1 } } } },
  { name: 'gradient checkpointing', levels: { off: {}, on: { gradientCheckpointing: true } } },
]

/** What all rows share: two iterations of two prompts. */
const base: Options = {
  model: policy,
  data: prompts,
  rewards: functionReward,
  chatTemplate: 'none',
  iterations: 2,
  rolloutBatchSize: 2,
  nSamplesPerPrompt: 2,
  maxNewTokens: 6,
  overlongBufferLen: 3,
  saveSteps: 1,
  keepCheckpoints: 20,
  sampleEvery: 1,
  optimizer: { lr: 1e-2 },
  device: 'cpu',
}

/** The config of a row; what is given under several names at once is put together. */
export function optionsOf(row: readonly number[]): Options {
  return Object.assign({}, base, ...row.map((level, factor) => Object.values(factors[factor]!.levels)[level]))
}

/** The levels of a row that ask for something, as a person reads them. */
export function titleOf(row: readonly number[]): string {
  const asked = row.flatMap((level, factor) => {
    const { name, levels } = factors[factor]!
    return level === 0 && factor > 0 ? [] : [`${name}: ${Object.keys(levels)[level]}`]
  })
  return asked.join(', ')
}
