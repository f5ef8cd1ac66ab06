import { parseConfig } from '../../src/decoder/index.js'
import { type LoadOptions, LocalModel } from '../../src/model/index.js'
import { device, onCuda } from './device.js'
import { tinyConfig } from './tiny-model.js'

/** On CUDA three layers of a 0.5B Qwen2, as large as kernels are made for; on the CPU a model that costs nothing. */
export function deviceModel(
  options: Partial<LoadOptions<'language'>> & { seed?: number } = {},
): Promise<LocalModel<'language'>> {
  const config = onCuda
    ? parseConfig(
        {
          architectures: ['Qwen2ForCausalLM'],
          hidden_size: 896,
          intermediate_size: 4864,
          num_attention_heads: 14,
          num_key_value_heads: 2,
          num_hidden_layers: 3,
          vocab_size: 2048,
          max_position_embeddings: 512,
          tie_word_embeddings: true,
        },
        'config.json',
      )
    : tinyConfig('qwen2', { hidden: 64, intermediate: 96, headDim: 16, vocabSize: 512 })
  return LocalModel.create(config, { seed: 3, device, ...options, role: 'language' })
}
