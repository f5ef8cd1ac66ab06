/** What makes a family of decoders: everything the config, the weight map, the layer and `init` need to know about it. */
import type { DecoderConfig } from '../config.js'
import type { VisionFamily } from '../vision/family.js'

export interface FamilyDescriptor {
  /** transformers' `model_type`. */
  modelType: string
  /** What the names of its classes begin with: `<className>ForCausalLM` (with a tower `ForConditionalGeneration`), `<className>ForSequenceClassification`. */
  className: string
  /** Where a layer's two norms stand, and what the checkpoint calls them. */
  norms: { place: DecoderConfig['norms']; attention: string; mlp: string }
  /** Whether the checkpoint has `q_norm` and `k_norm`, and what they normalise. */
  qkNorm: DecoderConfig['qkNorm']
  /** Which projections of attention have a bias: `config` means as `attention_bias` says. */
  biases: { qkv: 'always' | 'never' | 'config'; output: 'never' | 'config' }
  /** Whether attention sees a window only: always where `sliding_window` is a number, where `use_sliding_window` says so too, or never. */
  slidingWindow: 'always' | 'switched' | 'never'
  /** transformers' own values for fields that are not in the file. */
  defaults: {
    /** Undefined: as many as `num_attention_heads`. */
    kvHeads?: number
    /** Undefined: `hidden_size / num_attention_heads`. */
    headDim?: number
    slidingWindow?: number
    normEps: number
    ropeTheta: number
    tiedEmbeddings: boolean
  }
  /** Which layers rotate, where not all do; reads the family's own fields. */
  ropeLayers?(raw: Readonly<Record<string, unknown>>, given: { file: string; layers: number }): readonly boolean[]
  /** Its vision tower; left out for families that read only text. */
  vision?: VisionFamily
  /** Fields of a new model's config.json, beside its shape. */
  init: Readonly<Record<string, unknown>>
}
