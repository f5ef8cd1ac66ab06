/** The names of tensors in GGUF files and in Hugging Face checkpoints. */
import { type DecoderConfig, familyOf, weightMap } from '../decoder/index.js'
import type { Architecture } from './architectures.js'

export interface NamedTensor {
  /** In the GGUF file. */
  readonly gguf: string
  /** In the checkpoint. */
  readonly checkpoint: string
  readonly shape: readonly number[]
  readonly kind: 'matrix' | 'bias' | 'norm' | 'embedding'
  /** How many heads have rows in it, where rows of heads are permuted. */
  readonly permutedHeads: number | undefined
}

const inLayer: Readonly<Record<string, string>> = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
}

const outside: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
}

/** Every tensor of a language model, in the order of the checkpoint. */
export function namedTensors(config: DecoderConfig, architecture: Architecture): NamedTensor[] {
  const { norms } = familyOf(config.family)
  const ownNorms: Readonly<Record<string, string>> = {
    [norms.attention]: architecture.norms.attention,
    [norms.mlp]: architecture.norms.mlp,
  }
  return weightMap(config, 'language').flatMap(({ shape, kind, parts }) =>
    parts.map(({ name, rows }): NamedTensor => {
      const [, layer, path, suffix] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? []
      const own = path === undefined ? undefined : (inLayer[path] ?? ownNorms[path])
      return {
        gguf: own === undefined ? outside[name]! : `blk.${layer}.${own}.${suffix}`,
        checkpoint: name,
        shape: [rows, ...shape.slice(1)],
        kind,
        permutedHeads: architecture.permuted ? rotatedHeads(config, own) : undefined,
      }
    }),
  )
}

function rotatedHeads({ heads, kvHeads }: DecoderConfig, own: string | undefined): number | undefined {
  return own === 'attn_q' ? heads : own === 'attn_k' ? kvHeads : undefined
}
