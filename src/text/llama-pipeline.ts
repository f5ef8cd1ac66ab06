import { isObject, type JsonObject } from './json.js'

/** Model types for which transformers takes tokenizer.json as it is, whatever class the config names. */
const asWritten = new Set(['mistral', 'mixtral', 'ministral', 'ministral3', 'mistral3', 'olmo2', 'olmo3', 'phi3'])

interface PipelineFiles {
  readonly tokenizer: JsonObject
  readonly tokenizerConfig: JsonObject
  readonly modelConfig: JsonObject
}

/**
 * The effective `tokenizer.json`. For a `LlamaTokenizer`, transformers 5 takes only vocabulary, merges and post-processor from
 * the file: the class and two settings of `tokenizer_config.json` decide how text is split. The files of Llama 2 and similar
 * models prepend a space to every piece of text instead, and give other ids for texts that start with spaces or contain special
 * tokens; models were trained with the ids of the class.
 */
export function effectivePipeline({ tokenizer, tokenizerConfig: config, modelConfig }: PipelineFiles): JsonObject {
  const name = config.tokenizer_class ?? modelConfig.tokenizer_class
  const { model } = tokenizer
  if (name !== 'LlamaTokenizer' && name !== 'LlamaTokenizerFast') return tokenizer
  if (typeof modelConfig.model_type === 'string' && asWritten.has(modelConfig.model_type)) return tokenizer
  if (!isObject(model) || model.type !== 'BPE') return tokenizer
  const prefix = config.add_prefix_space !== false
  return {
    ...tokenizer,
    normalizer: null,
    pre_tokenizer: {
      type: 'Metaspace',
      replacement: '▁',
      // Legacy: before every piece between special tokens; else before the first alone.
      prepend_scheme: prefix ? (config.legacy === true ? 'always' : 'first') : 'never',
      split: false,
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      ...model,
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
    },
  }
}
