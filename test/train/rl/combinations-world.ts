/** The factors of the matrix of combinations, and the world its runs live in: models of some thousand weights, and servers of them. */
import { advantageEstimators } from '../../../src/maths/index.js'
import { initModel, LocalModel, newConfig } from '../../../src/model/index.js'
import { connectVllm, LocalEngine } from '../../../src/rollout/index.js'
import { MIN_VOCAB_SIZE, Tokenizer, trainTokenizer } from '../../../src/text/index.js'
import { algorithmNames } from '../../../src/train/rl/algorithms.js'
import { atEnd } from '../../support/at-end.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { ToyTransformer } from '../../support/doubles/toy-transformer.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { fresh, jsonl, written } from '../../support/files.js'
import { Anew, filled, ownEstimator, ownGenerator, ownLoss, ownPreset, ownReward } from './combinations-own.js'

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
const tokenizer = await Tokenizer.load(tokenizerDirectory)
const { bosId, eosId, padId } = tokenizer

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

/** The same in a program. */
const codeReward = ({ response, sample, row }: { response: string; sample: number; row: { nr: number } }): number =>
  row.nr % 3 === 0 ? 1 : response.length / 8 + sample / 3

const rows = Array.from({ length: 7 }, (_, nr) => ({ prompt: `Question ${nr}:`, nr }))
const prompts = jsonl(rows, 'prompts')
async function* rowsLater() {
  for (const row of rows) yield row
}
const laterRows = new Anew(async () => ({ part: rowsLater() }), rowsLater)

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

/** Models of a program, which come with the dtype of their run. */
type Dtype = 'float32' | 'bfloat16'
const liveModel = async (directory: string, role: 'language' | 'value', file?: string) => {
  const load = (dtype: Dtype) => LocalModel.load(directory, { role, dtype, device: 'cpu' })
  const known = { float32: await load('float32'), bfloat16: await load('bfloat16') }
  for (const model of Object.values(known)) atEnd(() => model.dispose())
  const dtypeOf = ({ dtype = 'float32' }: Options) => dtype as Dtype
  const make = async (options: Options) => {
    const part = await load(dtypeOf(options))
    return { part, end: () => part.dispose() }
  }
  return new Anew(make, options => known[dtypeOf(options)], file)
}

/** A client of servers that a program connected itself. */
const connect = () =>
  connectVllm({ urls: [vllm.url], vocabSize: toyVocabSize, tokenizer, modelDirectory: policy, patienceMs: 12_000 })
const closed = await connect()
await closed.close()
const liveClient = new Anew(
  async () => {
    const part = await connect()
    return { part, end: () => part.close() }
  },
  () => closed,
)

const named = (names: readonly string[], option: string): Record<string, Options> =>
  Object.fromEntries(names.map(name => [name, { [option]: name }]))

const kl = (kind: 'fixed' | 'adaptive', useKlLoss: boolean): Options => ({
  useKlLoss,
  klController: kind === 'fixed' ? { kind, coef: 0.05 } : { kind, coef: 0.05, target: 0.01 },
})

const presets = ['grpo', ...algorithmNames.filter(name => name !== 'grpo')]
/** `grpo` is another name of `group_norm`. */
const estimators = ['group_norm', ...advantageEstimators.filter(name => name !== 'group_norm' && name !== 'grpo')]

export const factors: readonly Factor[] = [
  { name: 'preset', levels: { ...named(presets, 'algorithm'), own: { algorithm: ownPreset } } },
  {
    name: 'estimator',
    levels: {
      ...named(estimators, 'advantageEstimator'),
      own: { advantageEstimator: ownEstimator, estimatorOptions: { factor: 2 } },
    },
  },
  { name: 'loss', levels: { preset: {}, own: { loss: ownLoss, lossOptions: { scale: 2 } } } },
  // Of definitions, and of the models of reference and critic.
  { name: 'given', levels: { 'as files': {}, 'in code': { way: 'in code' } } },
  { name: 'data', levels: { file: {}, list: { data: rows }, iterable: { data: laterRows } } },
  { name: 'model', levels: { directory: {}, live: { model: await liveModel(policy, 'language') } } },
  { name: 'tokenizer', levels: { "the model's": {}, live: { tokenizer } } },
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
  {
    name: 'engine',
    levels: {
      local: {},
      vLLM: served('vllm', vllm),
      SGLang: served('sglang', sglang),
      own: { generator: { type: ownGenerator, options: { samples: 3 } } },
      live: { generator: liveClient },
    },
  },
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
      own: { critic: { model: await liveModel(reference, 'value', reference), valueClip: null } },
      warm: { critic: { warmupIterations: 1 } },
    },
  },
  {
    name: 'reference',
    levels: {
      default: {},
      own: { reference: await liveModel(reference, 'language', reference) },
      'adapter-off': { reference: 'adapter-off' },
    },
  },
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
  {
    name: 'rewards',
    levels: {
      file: {},
      model: { rewards: modelReward },
      defined: { rewards: ownReward },
      function: { rewards: codeReward },
    },
  },
  {
    name: 'reward processing',
    levels: {
      none: {},
      overlong: { overlongBuffer: true, overlongBufferLen: 2 },
      running: { rewardRunningNorm: true, rewardRunningNormMinusMean: true },
      clips: { rewardClip: 1.5, advantageClip: 0.5 },
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

const { capabilities } = new LocalEngine(await LocalModel.load(policy, { role: 'language', device: 'cpu' }), {
  tokenizer,
})

/** The options as checks see them before a run, and what its generator can do where its name does not say it. */
export function knownOf({ way = 'files', ...options }: Options) {
  const given = filled(options, one => {
    if (one instanceof Anew) return way === 'files' && one.file !== undefined ? one.file : one.known(options)
    return way === 'files' ? one.loaded : one.inCode
  })
  const { generator } = options
  if (generator === liveClient) return { given, capabilities: closed.capabilities }
  const isOwn = (generator as { type?: unknown } | undefined)?.type === ownGenerator
  return { given, capabilities: isOwn ? capabilities : undefined }
}

/** The options as a config or a program gives them for one start, and what ends the live parts after it. */
export async function givenOf({ way = 'files', ...options }: Options) {
  const ends: (() => unknown)[] = []
  const live = new Map<Anew, unknown>()
  const isFile = (one: Anew): boolean => way === 'files' && one.file !== undefined
  const found: Anew[] = []
  filled(options, one => one instanceof Anew && !isFile(one) && found.push(one))
  for (const one of found) {
    const { part, end } = await one.make(options)
    live.set(one, part)
    if (end) ends.push(end)
  }
  const given = filled(options, one => {
    if (one instanceof Anew) return isFile(one) ? one.file : live.get(one)
    return way === 'files' ? one.file : one.inCode
  })
  const end = async (): Promise<void> => {
    for (const one of ends) await one()
  }
  return { given, end }
}

/** Definitions that a run may have been given in code. */
export const ownDefinitions = [ownEstimator, ownGenerator, ownLoss, ownPreset].map(({ inCode }) => inCode)

/** The levels of a row that ask for something, as a person reads them. */
export function titleOf(row: readonly number[]): string {
  const asked = row.flatMap((level, factor) => {
    const { name, levels } = factors[factor]!
    return level === 0 && factor > 0 ? [] : [`${name}: ${Object.keys(levels)[level]}`]
  })
  return asked.join(', ')
}
