/** A small visual world: pictures of coloured squares, and a tiny vision-language model from nothing that can learn to name them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodePng } from '../../src/media/png.js'
import { initModel, parseConfig } from '../../src/model/index.js'
import { fresh } from './files.js'
import { tokenizer, tokenizerPath } from './tokenizers.js'

export const visionTemplate = `{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<|vision_start|><|{{ part.type }}_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

/** Patches of 4 x 4 pixels: a picture of 16 x 16 has 16 of them, which are 4 tokens. */
const patch = 4
const processor = {
  do_convert_rgb: true,
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
  merge_size: 2,
  patch_size: patch,
  resample: 3,
  rescale_factor: 1 / 255,
  size: { longest_edge: 1024, shortest_edge: 64 },
  temporal_patch_size: 2,
}

const rawConfig = ({ hidden = 32, context = 256 }: VisionShape) => ({
  architectures: ['Qwen2_5_VLForConditionalGeneration'],
  model_type: 'qwen2_5_vl',
  image_token_id: 5,
  video_token_id: 6,
  vision_start_token_id: 3,
  vision_end_token_id: 4,
  tie_word_embeddings: false,
  text_config: {
    model_type: 'qwen2_5_vl_text',
    vocab_size: tokenizer.vocabSize,
    hidden_size: hidden,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    max_position_embeddings: context,
    hidden_act: 'silu',
    rms_norm_eps: 1e-6,
    initializer_range: 0.1,
    attention_dropout: 0,
    rope_parameters: { rope_type: 'default', rope_theta: 10000, mrope_section: [hidden / 4 - 4, 2, 2] },
    tie_word_embeddings: false,
    use_sliding_window: false,
    sliding_window: null,
  },
  vision_config: {
    model_type: 'qwen2_5_vl_vision',
    depth: 1,
    fullatt_block_indexes: [0],
    hidden_act: 'silu',
    hidden_size: 16,
    in_channels: 3,
    intermediate_size: 24,
    num_heads: 2,
    out_hidden_size: hidden,
    patch_size: patch,
    spatial_merge_size: 2,
    temporal_patch_size: 2,
    tokens_per_second: 2,
    window_size: 16,
    initializer_range: 0.1,
  },
})

export interface VisionShape {
  readonly hidden?: number
  readonly context?: number
}

/** A directory of a model with random weights, with its tokenizer, a chat template and its processor. */
export async function visionDirectory(seed: number, shape: VisionShape = {}): Promise<string> {
  const out = fresh('vision-model')
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const config = parseConfig(rawConfig(shape), 'a tiny vision-language model')
  await initModel({ config, seed, dtype: 'float32', tokenizer: tokenizerPath, tokens, out })
  writeFileSync(join(out, 'preprocessor_config.json'), JSON.stringify(processor))
  writeFileSync(join(out, 'chat_template.jinja'), visionTemplate)
  return out
}

export const colours = { red: [220, 30, 30], green: [30, 200, 40], blue: [30, 60, 220] } as const
export type Colour = keyof typeof colours
export const colourNames = Object.keys(colours) as Colour[]

/** A grey picture with a square of a colour; `seed` moves the square, unless a place says where it is, and changes the grey. */
export function squarePng(
  colour: Colour,
  seed: number,
  [left, top]: readonly [number, number] = [(seed * 5) % 8, (seed * 3) % 8],
): Promise<Buffer> {
  const side = 16
  const data = new Uint8Array(side * side * 3).fill(90 + ((seed * 37) % 60))
  for (let y = top; y < top + 8; y++)
    for (let x = left; x < left + 8; x++) data.set(colours[colour], (y * side + x) * 3)
  return encodePng({ data, width: side, height: side })
}

/** Pictures in a new folder, in turns of the colours. */
export async function pictureFolder(
  count: number,
  among: readonly Colour[] = colourNames,
): Promise<{ folder: string; names: { name: string; colour: Colour }[] }> {
  const folder = fresh('pictures')
  mkdirSync(folder)
  const names: { name: string; colour: Colour }[] = []
  for (let i = 0; i < count; i++) {
    const colour = among[i % among.length]!
    names.push({ name: `${i}.png`, colour })
    writeFileSync(join(folder, `${i}.png`), await squarePng(colour, i))
  }
  return { folder, names }
}

/** A file of rows beside the pictures. */
export function rowsBeside(folder: string, rows: readonly object[], name = 'rows'): string {
  const file = join(folder, `${name}.jsonl`)
  writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  return file
}
