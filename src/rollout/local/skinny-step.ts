/**
 * A step of next tokens over projections for few rows: what `decodeStep` computes, where every norm is divided between the
 * part in front of it and the one behind.
 */

import type { DecoderParts } from '../../decoder/index.js'
import type { SkinnyGemm } from '../../kernels/index.js'
import type { Tensor } from '../../tensor/index.js'
import { normHeads, type StepOps } from './decoder-step.js'

export interface SkinnyStepOps extends SkinnyGemm, Pick<StepOps, 'rmsNorm'> {
  /** Turns queries and keys, stores keys and values, and gives each row's attention over its sequence up to its position. */
  attend(qkv: Tensor, layer: number): Tensor
}

/** The normalised hidden states after each row. An adapter is not for these projections. */
export function skinnyStep(parts: DecoderParts, ops: SkinnyStepOps, ids: Tensor): Tensor {
  const { config, weights } = parts
  const last = config.layers - 1
  const weight = (name: string): Tensor => weights.get(name)!
  const bias = (name: string): Tensor | null => weights.get(name) ?? null

  const begun = ops.begin(ids, {
    table: weight('model.embed_tokens.weight'),
    norm: weight('model.layers.0.input_layernorm.weight'),
  })
  const { residual } = begun
  let { normed } = begun
  for (let i = 0; i <= last; i++) {
    const at = `model.layers.${i}`
    const qkv = ops.plain(normed, {
      weight: weight(`${at}.self_attn.qkv.weight`),
      bias: bias(`${at}.self_attn.qkv.bias`),
    })
    const mixed = ops.attend(config.qkNorm ? normHeads(parts, ops, qkv, at) : qkv, i)
    normed = ops.stream(mixed, {
      weight: weight(`${at}.self_attn.o_proj.weight`),
      bias: bias(`${at}.self_attn.o_proj.bias`),
      residual,
      norm: weight(`${at}.post_attention_layernorm.weight`),
    })
    const act = ops.gated(normed, { weight: weight(`${at}.mlp.gate_up.weight`) })
    normed = ops.stream(act, {
      weight: weight(`${at}.mlp.down_proj.weight`),
      bias: bias(`${at}.mlp.down_proj.bias`),
      residual,
      norm: weight(i === last ? 'model.norm.weight' : `model.layers.${i + 1}.input_layernorm.weight`),
    })
  }
  return ops.end(normed)
}
