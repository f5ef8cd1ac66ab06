/** What the media benches share: shapes of Qwen2.5-VL, images of noise, and sequences with one of them. */
import { parseConfig } from 'whetstone/model'
import { supervisedSequence } from '#whetstone/sequence'

const ids = { image: 151655, video: 151656, start: 151652, end: 151653 }
const vocabSize = 151936

/** As released with 3B, and one that a CPU computes. */
const shapes = {
  '3b': {
    text: { hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36, num_attention_heads: 16, num_key_value_heads: 2 }, // biome-ignore format: one shape
    tower: { depth: 32, hidden_size: 1280, intermediate_size: 3420, num_heads: 16, fullatt_block_indexes: [7, 15, 23, 31] }, // biome-ignore format: one shape
  },
  tiny: {
    text: { hidden_size: 256, intermediate_size: 512, num_hidden_layers: 2, num_attention_heads: 2, num_key_value_heads: 1 }, // biome-ignore format: one shape
    tower: { depth: 4, hidden_size: 160, intermediate_size: 320, num_heads: 2, fullatt_block_indexes: [1, 3] },
  },
}

/** @typedef {keyof typeof shapes} Size */

/** @param {Size} size */
export function visionConfig(size) {
  const { text, tower } = shapes[size]
  const [image_token_id, video_token_id, vision_start_token_id, vision_end_token_id] = Object.values(ids)
  return parseConfig(
    {
      architectures: ['Qwen2_5_VLForConditionalGeneration'],
      model_type: 'qwen2_5_vl',
      ...{ image_token_id, video_token_id, vision_start_token_id, vision_end_token_id },
      ...text,
      vocab_size: vocabSize,
      max_position_embeddings: 32768,
      rms_norm_eps: 1e-6,
      rope_theta: 1e6,
      rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
      tie_word_embeddings: true,
      hidden_act: 'silu',
      vision_config: {
        ...tower,
        ...{
          hidden_act: 'silu',
          out_hidden_size: text.hidden_size,
          in_chans: 3,
          patch_size: 14,
          temporal_patch_size: 2,
        },
        ...{ spatial_merge_size: 2, window_size: 112, tokens_per_second: 2 },
      },
    },
    'config.json',
  )
}

/** Multiply-adds of the matrices for a token of the text, for its logits, and for a patch of an image. @param {Size} size */
export function weightsOf(size) {
  const { text, tower } = shapes[size]
  const [h, keys] = [text.hidden_size, (text.hidden_size / text.num_attention_heads) * text.num_key_value_heads]
  const layer = 2 * h * h + 2 * h * keys + 3 * h * text.intermediate_size
  const e = tower.hidden_size
  const block = 4 * e * e + 3 * e * tower.intermediate_size
  const merger = (16 * e * e + 4 * e * h) / 4
  return {
    token: text.num_hidden_layers * layer,
    logits: h * vocabSize,
    patch: 3 * 2 * 14 * 14 * e + tower.depth * block + merger,
    /** Times the length of the sequence, or of the segment that a patch sees. */
    attention: {
      token: text.num_hidden_layers * h,
      patch: e,
      full: tower.fullatt_block_indexes.length,
      depth: tower.depth,
    },
  }
}

/**
 * An image of noise that no other number gives.
 *
 * @param {number} number
 * @param {number} side of the square in pixels, a multiple of 28
 * @returns {import('#whetstone/sequence').MediaPixels}
 */
export function noise(number, side) {
  const frames = new Uint8Array(side * side * 3)
  for (let i = 0; i < frames.length; i++) frames[i] = (i * 7919 + number * 104_729 + (i >> 9) * 31) % 251
  return { kind: 'image', hash: `noise ${number} ${side}`, frames, grid: [1, side / 14, side / 14] }
}

/**
 * Text, the image where there is one, and text again. The last `trained` tokens are trained.
 *
 * @param {number} number
 * @param {{ pixels?: import('#whetstone/sequence').MediaPixels | undefined, text: number, trained?: number }} parts
 */
export function sequenceOf(number, { pixels, text, trained = 0 }) {
  const count = pixels ? (pixels.grid[1] * pixels.grid[2]) / 4 : 0
  const before = Math.min(16, text >> 1)
  /** @param {number} i */
  const word = i => (i * 7919 + number * 104_729) % 151_000
  const block = pixels ? [ids.start, ...Array(count).fill(ids.image), ids.end] : []
  const all = [
    ...Array.from({ length: before }, (_, i) => word(i)),
    ...block,
    ...Array.from({ length: text - before }, (_, i) => word(before + i)),
  ]
  const mask = new Uint8Array(all.length)
  if (trained > 0) mask.fill(1, all.length - trained)
  const media = pixels ? [{ pixels, runs: [{ start: before + 1, count }] }] : []
  return supervisedSequence({ ids: Int32Array.from(all), trained: mask, media, promptId: `${number}`, row: {} })
}

/**
 * One step of training: every trained token counts the same.
 *
 * @param {import('whetstone/model').LocalModel<'language'>} model
 * @param {import('#whetstone/sequence').Sequence[]} sequences
 * @param {import('whetstone/model').TrainOptions} [options]
 */
export async function train(model, sequences, options) {
  await model.forwardBackward(
    sequences,
    outputs => outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1e-4) })),
    options,
  )
  await model.step({ lr: 1e-6, clipNorm: 1 })
}
