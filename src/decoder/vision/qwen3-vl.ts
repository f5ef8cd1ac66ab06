import { z } from 'zod'
import { layerNorm, type Tensor } from '../../tensor/index.js'
import { ModelError } from '../errors.js'
import { count, expected, readFields } from '../fields.js'
import { normEps, project, sideBySide, type Tower, type VisionFamily, WeightList } from './family.js'

const fields = z.object({
  hidden_size: count,
  intermediate_size: count,
  out_hidden_size: count,
  num_position_embeddings: count,
  deepstack_visual_indexes: z.array(z.int().nonnegative(), expected('a list of blocks')),
})

/** Qwen3-VL: a table of positions, rows of some blocks for the first layers of the decoder, and the times of a video as text. */
export const qwen3VlVision = {
  activation: 'gelu_pytorch_tanh',
  interleaved: true,
  requiredText: ['num_key_value_heads', 'rms_norm_eps', 'head_dim'],
  names: 'nested',
  pixels: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  read(raw, file) {
    const read = readFields(fields, raw, file)
    const tableSide = Math.sqrt(read.num_position_embeddings)
    if (!Number.isInteger(tableSide))
      throw new ModelError(`${file}: num_position_embeddings ${read.num_position_embeddings} is not a square`)
    return {
      width: read.hidden_size,
      intermediate: read.intermediate_size,
      out: read.out_hidden_size,
      tableSide,
      deepstack: read.deepstack_visual_indexes,
      videoTime: 'text',
    }
  },
  weights({ depth, width, intermediate, patch, temporalPatch, merge, out, tableSide, deepstack }) {
    const list = new WeightList()
      .whole('patch_embed.proj.weight', [width, 3, temporalPatch, patch, patch], 'matrix')
      .whole('patch_embed.proj.bias', [width], 'bias')
      .whole('pos_embed.weight', [tableSide! ** 2, width], 'embedding')
    for (let i = 0; i < depth; i++) {
      const at = `blocks.${i}`
      list.layerNorm(`${at}.norm1`, width).layerNorm(`${at}.norm2`, width)
      list.linear(`${at}.attn.qkv`, [3 * width, width]).linear(`${at}.attn.proj`, [width, width])
      list.linear(`${at}.mlp.linear_fc1`, [intermediate, width]).linear(`${at}.mlp.linear_fc2`, [width, intermediate])
    }
    const wide = merge * merge * width
    const merger = (at: string, normed: number) =>
      list
        .layerNorm(`${at}.norm`, normed)
        .linear(`${at}.linear_fc1`, [wide, wide])
        .linear(`${at}.linear_fc2`, [out, wide])
    merger('merger', width)
    for (const k of deepstack.keys()) merger(`deepstack_merger_list.${k}`, wide)
    return list.weights
  },
  norm: (tower, name, x) => norm(tower, name, x, tower.config.width),
  mlp: (tower, at, x) =>
    project(tower, `${at}.mlp.linear_fc2`, project(tower, `${at}.mlp.linear_fc1`, x).gelu({ approximate: 'tanh' })),
  merge: (tower, [last, ...deep]) => {
    const { width, merge } = tower.config
    const end = (at: string, wide: Tensor): Tensor =>
      project(tower, `${at}.linear_fc2`, project(tower, `${at}.linear_fc1`, wide).gelu())
    return [
      end('merger', sideBySide(tower, norm(tower, 'merger.norm', last!, width))),
      // These norms come after the rows of a token are side by side, the other before.
      ...deep.map((x, k) => {
        const at = `deepstack_merger_list.${k}`
        return end(at, norm(tower, `${at}.norm`, sideBySide(tower, x), merge * merge * width))
      }),
    ]
  },
} as const satisfies VisionFamily

function norm({ weight }: Tower, name: string, x: Tensor, width: number): Tensor {
  return layerNorm(x, [width], weight(`${name}.weight`), weight(`${name}.bias`), normEps)
}
