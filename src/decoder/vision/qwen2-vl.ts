import { z } from 'zod'
import { layerNorm } from '../../tensor/index.js'
import { count, positiveNumber, readFields } from '../fields.js'
import { normEps, project, sideBySide, type VisionFamily, WeightList } from './family.js'

const fields = z.object({ embed_dim: count, hidden_size: count, mlp_ratio: positiveNumber })

/** CLIP's pixels. */
export const clipPixels = {
  mean: [0.48145466, 0.4578275, 0.40821073],
  std: [0.26862954, 0.26130258, 0.27577711],
} as const

/** Qwen2-VL: every patch sees its whole frame. `hidden_size` is the decoder's width here, `embed_dim` the tower's. */
export const qwen2VlVision = {
  activation: 'quick_gelu',
  interleaved: false,
  requiredText: ['num_key_value_heads', 'rms_norm_eps'],
  names: 'flat',
  pixels: clipPixels,
  read(raw, file) {
    const { embed_dim: width, hidden_size: out, mlp_ratio: ratio } = readFields(fields, raw, file)
    return { width, out, intermediate: Math.floor(width * ratio), deepstack: [], videoTime: 'index' }
  },
  weights({ depth, width, intermediate, patch, temporalPatch, merge, out }) {
    const list = new WeightList().whole('patch_embed.proj.weight', [width, 3, temporalPatch, patch, patch], 'matrix')
    for (let i = 0; i < depth; i++) {
      const at = `blocks.${i}`
      list.layerNorm(`${at}.norm1`, width).layerNorm(`${at}.norm2`, width)
      list.linear(`${at}.attn.qkv`, [3 * width, width]).linear(`${at}.attn.proj`, [width, width])
      list.linear(`${at}.mlp.fc1`, [intermediate, width]).linear(`${at}.mlp.fc2`, [width, intermediate])
    }
    const wide = merge * merge * width
    list.layerNorm('merger.ln_q', width)
    return list.linear('merger.mlp.0', [wide, wide]).linear('merger.mlp.2', [out, wide]).weights
  },
  norm: ({ weight, config: { width } }, name, x) =>
    layerNorm(x, [width], weight(`${name}.weight`), weight(`${name}.bias`), normEps),
  mlp: (tower, at, x) => {
    const inner = project(tower, `${at}.mlp.fc1`, x)
    return project(tower, `${at}.mlp.fc2`, inner.mul(inner.mul(1.702).sigmoid()))
  },
  merge: (tower, [x]) => {
    const wide = sideBySide(tower, tower.family.norm(tower, 'merger.ln_q', x!))
    return [project(tower, 'merger.mlp.2', project(tower, 'merger.mlp.0', wide).gelu())]
  },
} as const satisfies VisionFamily
