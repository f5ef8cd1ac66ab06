/** A tiny vision-language model with random weights, from the tokenizer of the examples: node make-model.mjs TOKENIZER OUT */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initModel, parseConfig } from 'whetstone/model'
import { Tokenizer } from 'whetstone/text'

const [from, out] = process.argv.slice(2)
if (out === undefined) throw new Error('usage: node make-model.mjs TOKENIZER_DIRECTORY OUT')

// Tokens that stand around and for images.
const names = ['<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>']
const own = `${out}-tokenizer`
cpSync(from, own, { recursive: true })
const file = JSON.parse(readFileSync(join(own, 'tokenizer.json'), 'utf8'))
const used = [...Object.values(file.model.vocab), ...file.added_tokens.map(({ id }) => id)]
const first = Math.max(...used) + 1
const token = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
file.added_tokens.push(...names.map((content, i) => ({ id: first + i, content, ...token })))
writeFileSync(join(own, 'tokenizer.json'), JSON.stringify(file))

// As Qwen2.5-VL is, with small numbers: patches of 4 x 4 pixels, a token for 8 x 8.
const [start, end, image, video] = names.map((_, i) => first + i)
const text = {
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
}
const vision = { depth: 1, hidden_size: 16, intermediate_size: 24, num_heads: 2, out_hidden_size: 32, patch_size: 4 }
const tokenizer = await Tokenizer.load(own)
const config = parseConfig(
  {
    architectures: ['Qwen2_5_VLForConditionalGeneration'],
    model_type: 'qwen2_5_vl',
    ...{ image_token_id: image, video_token_id: video, vision_start_token_id: start, vision_end_token_id: end },
    tie_word_embeddings: false,
    text_config: {
      ...{ model_type: 'qwen2_5_vl_text', vocab_size: first + names.length, ...text, max_position_embeddings: 256 },
      ...{ hidden_act: 'silu', rms_norm_eps: 1e-6, initializer_range: 0.1, attention_dropout: 0 },
      ...{ tie_word_embeddings: false, use_sliding_window: false, sliding_window: null },
      rope_parameters: { rope_type: 'default', rope_theta: 10000, mrope_section: [4, 2, 2] },
    },
    vision_config: {
      ...{ model_type: 'qwen2_5_vl_vision', ...vision, in_channels: 3, hidden_act: 'silu', initializer_range: 0.1 },
      ...{ spatial_merge_size: 2, temporal_patch_size: 2, tokens_per_second: 2 },
      ...{ window_size: 16, fullatt_block_indexes: [0] },
    },
  },
  'make-model.mjs',
)
const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
await initModel({ config, seed: 1, dtype: 'float32', tokenizer: own, tokens, out })

const half = [0.5, 0.5, 0.5]
const processor = {
  ...{ do_convert_rgb: true, do_resize: true, do_rescale: true, do_normalize: true, resample: 3 },
  ...{
    rescale_factor: 1 / 255,
    image_mean: half,
    image_std: half,
    patch_size: 4,
    merge_size: 2,
    temporal_patch_size: 2,
  },
  size: { shortest_edge: 64, longest_edge: 1024 },
}
writeFileSync(join(out, 'preprocessor_config.json'), JSON.stringify(processor))
writeFileSync(
  join(out, 'chat_template.jinja'),
  `{% for message in messages %}{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<|vision_start|><|{{ part.type }}_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}{{ eos_token }}
{% endfor %}`,
)
console.log(`${out}: ${first + names.length} tokens`)
