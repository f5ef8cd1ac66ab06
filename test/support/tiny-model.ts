import {
  initModel,
  LocalModel,
  type ModelConfig,
  type ModelShape,
  newConfig,
  parseConfig,
  type Role,
  type TextFamily,
} from '../../src/model/index.js'
import { atEnd } from './at-end.js'
import { fresh } from './files.js'
import { tokenizer, tokenizerPath } from './tokenizers.js'

export type TinyShape = Partial<ModelShape & { vocabSize: number; initRange: number }>

/** Wide enough that attention is not flat and every number matters. */
export function tinyConfig(family: TextFamily, { initRange = 0.3, ...shape }: TinyShape = {}): ModelConfig {
  let config = newConfig(family, {
    hidden: 16,
    intermediate: 24,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 8,
    context: 128,
    tied: family !== 'llama',
    vocabSize: 37,
    ...shape,
  })
  // Of so few layers, one that does not rotate.
  if (family === 'smollm3') config = parseConfig({ ...config.raw, no_rope_layer_interval: 2 }, 'a tiny model')
  return { ...config, decoder: { ...config.decoder, initRange } }
}

/** One that knows the tokenizer of the fixtures. */
const speaking = (shape: TinyShape): ModelConfig =>
  tinyConfig('qwen2', { hidden: 32, intermediate: 64, vocabSize: tokenizer.vocabSize, initRange: 0.1, ...shape })

/** A directory with random weights and the tokenizer of the fixtures, as `whetstone init` writes it. */
export async function modelDirectory(seed: number, shape: TinyShape = {}): Promise<string> {
  const out = fresh('model')
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  await initModel({ config: speaking(shape), seed, dtype: 'float32', tokenizer: tokenizerPath, tokens, out })
  return out
}

/** Its answers differ more than those of smaller ones. */
export const widerDirectory = (): Promise<string> =>
  modelDirectory(5, { hidden: 64, intermediate: 128, headDim: 16, context: 256, initRange: 0.15 })

/** A directory of a reward model, made of the weights of a language model. */
export async function rewardModelDirectory(source: string): Promise<string> {
  const model = await LocalModel.load(source, { role: 'reward', seed: 3 })
  const out = fresh('reward-model')
  await model.export(out, { what: 'model' })
  model.dispose()
  return out
}

export type TinyModelOptions = Omit<Parameters<typeof LocalModel.create>[1], 'role' | 'seed'> & {
  seed?: number
  shape?: TinyShape
}

/** A model in memory, disposed when the tests of the file are done. */
export async function tinyModel<R extends Role>(
  role: R,
  { seed = 5, shape = {}, ...options }: TinyModelOptions = {},
): Promise<LocalModel<R>> {
  const model = await LocalModel.create<R>(speaking(shape), { role, seed, ...options })
  atEnd(() => model.dispose())
  return model
}
