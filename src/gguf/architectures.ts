/** What llama.cpp calls our families, and what it does with them otherwise than transformers. */
import type { Family, TextFamily } from '../decoder/index.js'

export interface Architecture {
  /** `general.architecture`, and what its keys begin with. */
  readonly name: string
  /** What a file of it becomes. */
  readonly family: TextFamily
  /** The two halves of a rotated head alternate in llama.cpp and follow each other in transformers: rows of q and k are permuted. */
  readonly permuted: boolean
  /** llama.cpp reads biases of attention: of queries, keys and values, or of the output too. */
  readonly biases: 'none' | 'qkv' | 'all'
  /** Names of the two norms of a layer. */
  readonly norms: { readonly attention: string; readonly mlp: string }
}

const before = { attention: 'attn_norm', mlp: 'ffn_norm' } as const
const llama: Architecture = { name: 'llama', family: 'llama', permuted: true, biases: 'all', norms: before }

/** By family. llama.cpp takes Mistral for a Llama, whose layer is the same; such a file comes back as a Llama. */
const byFamily: Readonly<Record<TextFamily, Architecture>> = {
  llama,
  mistral: llama,
  qwen2: { name: 'qwen2', family: 'qwen2', permuted: false, biases: 'qkv', norms: before },
  qwen3: { name: 'qwen3', family: 'qwen3', permuted: false, biases: 'none', norms: before },
  smollm3: { name: 'smollm3', family: 'smollm3', permuted: true, biases: 'none', norms: before },
  olmo2: {
    name: 'olmo2',
    family: 'olmo2',
    permuted: false,
    biases: 'none',
    norms: { attention: 'post_attention_norm', mlp: 'post_ffw_norm' },
  },
}

/** Undefined for models with a vision tower, whose file of text alone would be another model. */
export const architectureOf = (family: Family): Architecture | undefined =>
  (byFamily as Readonly<Partial<Record<Family, Architecture>>>)[family]

export const architectures: readonly Architecture[] = [...new Set(Object.values(byFamily))]

/** In llama.cpp every fourth layer of a SmolLM3 does not rotate; no key says otherwise. */
export const unrotatedEvery = 4
