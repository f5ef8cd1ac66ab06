import { z } from 'zod'
import { ModelError } from '../errors.js'
import { count, expected, positiveNumber, readFields } from '../fields.js'
import { normEps, project, type VisionFamily, WeightList } from './family.js'
import { clipPixels, qwen2VlVision } from './qwen2-vl.js'

const fields = z.object({
  hidden_size: count,
  intermediate_size: count,
  out_hidden_size: count,
  window_size: count,
  fullatt_block_indexes: z.array(z.int().nonnegative(), expected('a list of blocks')),
  tokens_per_second: positiveNumber,
})

/** Qwen2.5-VL: most blocks see windows of a frame, a few see all of it. The time of a video is in seconds. */
export const qwen25VlVision = {
  activation: 'silu',
  interleaved: false,
  requiredText: ['num_key_value_heads', 'rms_norm_eps'],
  names: 'flat',
  pixels: clipPixels,
  read(raw, file, { patch_size: patch, spatial_merge_size: merge }) {
    const read = readFields(fields, raw, file)
    const side = read.window_size / merge / patch
    if (!Number.isInteger(side))
      throw new ModelError(`${file}: window_size ${read.window_size} is not a multiple of tokens of ${merge * patch}`)
    return {
      width: read.hidden_size,
      intermediate: read.intermediate_size,
      out: read.out_hidden_size,
      windows: { side, fullBlocks: read.fullatt_block_indexes },
      deepstack: [],
      videoTime: { tokensPerSecond: read.tokens_per_second },
    }
  },
  weights({ depth, width, intermediate, patch, temporalPatch, merge, out }) {
    const list = new WeightList().whole('patch_embed.proj.weight', [width, 3, temporalPatch, patch, patch], 'matrix')
    for (let i = 0; i < depth; i++) {
      const at = `blocks.${i}`
      list.whole(`${at}.norm1.weight`, [width], 'norm').whole(`${at}.norm2.weight`, [width], 'norm')
      list.linear(`${at}.attn.qkv`, [3 * width, width]).linear(`${at}.attn.proj`, [width, width])
      list.pair(`${at}.mlp.gate_up`, [`${at}.mlp.gate_proj`, `${at}.mlp.up_proj`], [intermediate, width])
      list.linear(`${at}.mlp.down_proj`, [width, intermediate])
    }
    const wide = merge * merge * width
    list.whole('merger.ln_q.weight', [width], 'norm')
    return list.linear('merger.mlp.0', [wide, wide]).linear('merger.mlp.2', [out, wide]).weights
  },
  norm: ({ ops, weight }, name, x) => ops.rmsNorm(x, weight(`${name}.weight`)!, normEps),
  mlp: (tower, at, x) =>
    project(tower, `${at}.mlp.down_proj`, tower.ops.swiglu(project(tower, `${at}.mlp.gate_up`, x))),
  merge: qwen2VlVision.merge,
} as const satisfies VisionFamily
