/** Models from nothing: shapes by name, and a directory with random weights that transformers loads. */
import { readdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  architectureName,
  type DecoderConfig,
  familyOf,
  type ModelConfig,
  parseConfig,
  type TextFamily,
} from '../decoder/index.js'
import { writeDirectoryAtomic } from '../files/index.js'
import type { DType } from '../tensor/index.js'
import { ModelError } from './errors.js'
import { copyTokenizer } from './export.js'
import { LocalModel } from './local-model.js'

export type ModelShape = Pick<
  DecoderConfig,
  'hidden' | 'intermediate' | 'layers' | 'heads' | 'kvHeads' | 'headDim' | 'context'
> & {
  /** The output matrix is the embedding. */
  tied: boolean
}

/** The first two for trying things out, with vocabularies of about 4k and 8k; the others are shapes of released models. */
export const sizes = {
  '2m': { hidden: 128, intermediate: 512, layers: 6, heads: 4, kvHeads: 2, headDim: 32, context: 2048, tied: true },
  '26m': { hidden: 512, intermediate: 1328, layers: 8, heads: 8, kvHeads: 2, headDim: 64, context: 2048, tied: true },
  '0.5b': {
    hidden: 896,
    intermediate: 4864,
    layers: 24,
    heads: 14,
    kvHeads: 2,
    headDim: 64,
    context: 32768,
    tied: true,
  },
  '0.6b': {
    hidden: 1024,
    intermediate: 3072,
    layers: 28,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    context: 40960,
    tied: true,
  },
  '1b': { hidden: 2048, intermediate: 8192, layers: 16, heads: 32, kvHeads: 8, headDim: 64, context: 8192, tied: true },
  '1.5b': {
    hidden: 1536,
    intermediate: 8960,
    layers: 28,
    heads: 12,
    kvHeads: 2,
    headDim: 128,
    context: 32768,
    tied: true,
  },
} as const satisfies Record<string, ModelShape>
export type Size = keyof typeof sizes

/** Ids that generation needs, from the tokenizer. */
interface TokenRoles {
  bos?: number | undefined
  eos?: number | undefined
  pad?: number | undefined
}

const roleFields = ({ bos, eos, pad }: TokenRoles) => ({
  ...(bos === undefined ? {} : { bos_token_id: bos }),
  ...(eos === undefined ? {} : { eos_token_id: eos }),
  ...(pad === undefined ? {} : { pad_token_id: pad }),
})

/**
 * The config of a new language model.
 *
 * ```ts
 * const config = newConfig('qwen2', { ...sizes['2m'], vocabSize: 4096 })
 * const model = await LocalModel.create(config, { role: 'language', seed: 0 })
 * ```
 */
export function newConfig(
  family: TextFamily,
  shape: ModelShape & { vocabSize: number },
  tokens: TokenRoles = {},
): ModelConfig {
  const raw = {
    architectures: [architectureName(family, 'language')],
    model_type: familyOf(family).modelType,
    vocab_size: shape.vocabSize,
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headDim,
    max_position_embeddings: shape.context,
    tie_word_embeddings: shape.tied,
    hidden_act: 'silu',
    attention_dropout: 0,
    initializer_range: 0.02,
    use_cache: true,
    ...familyOf(family).init,
    ...roleFields(tokens),
  }
  return parseConfig(raw, 'the new model')
}

export interface InitModelOptions {
  config: ModelConfig
  seed: number
  dtype: DType
  /** The tokenizer's directory; its files are copied. */
  tokenizer: string
  tokens: TokenRoles
  /** Made; an empty directory may be there. */
  out: string
  signal?: AbortSignal
}

/** Writes a model with random weights. The directory appears whole or not at all; nothing is overwritten. */
export async function initModel(options: InitModelOptions): Promise<{ parameters: number; bytes: number }> {
  const { config, seed, dtype, tokens, signal } = options
  const target = resolve(options.out)
  await refuseToOverwrite(target)
  const model = await LocalModel.create(config, { role: 'language', seed, dtype })
  try {
    return await writeDirectoryAtomic(target, async at => {
      signal?.throwIfAborted()
      await copyTokenizer(options.tokenizer, at)
      await writeFile(join(at, 'generation_config.json'), `${JSON.stringify(roleFields(tokens), null, 2)}\n`)
      const written = await model.writeInto(at)
      signal?.throwIfAborted()
      return written
    })
  } finally {
    model.dispose()
  }
}

async function refuseToOverwrite(directory: string): Promise<void> {
  const found = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new ModelError(`${directory}: expected an empty directory or a new path`, { cause: error })
  })
  if (found.length > 0) throw new ModelError(`${directory} is not empty. Give another directory or remove this one.`)
}
