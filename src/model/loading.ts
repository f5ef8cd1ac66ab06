/** How a model is made: its options, their defaults, and the parts a checkpoint may not have. */
import {
  type AdamWOptions,
  type Device,
  type DType,
  Generator,
  noGrad,
  randn,
  scope,
  type Tensor,
  zeros,
} from '../tensor/index.js'
import { Adapter, type AdapterOptions } from './adapter.js'
import type { HeadLayout, ModelConfig } from './config.js'
import { ModelError } from './errors.js'
import type { Weight } from './layout.js'
import type { Role } from './outputs.js'
import type { LoadProgress } from './weights.js'

export interface LoadOptions<R extends Role> {
  /** Default: what the checkpoint is. A critic or a reward model may be made from a policy's checkpoint. */
  role?: R
  device?: Device
  /** Default float32 on the CPU, bfloat16 on CUDA (trained through float32 copies). */
  dtype?: DType
  /** A directory with an adapter in PEFT's format, or a new one. */
  adapter?: string | (AdapterOptions & { seed: number })
  /** Keep only each layer's input for the backward pass, and compute the rest again. */
  recompute?: boolean
  /** Train the head alone. */
  freezeBackbone?: boolean
  optimizer?: OptimizerOptions
  /** Rows of a batch. Default 2048 on the CPU, 32768 on CUDA. */
  tokenBudget?: number
  /** Of a head that the checkpoint does not have. */
  seed?: number
  signal?: AbortSignal
  onProgress?: (progress: LoadProgress) => void
}

export interface OptimizerOptions extends Pick<AdamWOptions, 'betas' | 'eps' | 'weightDecay'> {
  /** Kinds of weights that do not decay. */
  exempt?: readonly Weight['kind'][]
}

export interface Settings {
  device: Device
  dtype: DType
  tokenBudget: number
  recompute: boolean
  freezeBackbone: boolean
  optimizer: OptimizerOptions
}

export function headOf(role: Role): HeadLayout {
  return role === 'language' ? 'language' : 'score'
}

/** An adapter leaves the weights alone, except a head of one number, which no language model comes with. */
export function trains(name: string, role: Role, adapter: Adapter | undefined, { freezeBackbone }: Settings): boolean {
  if (name === 'score.weight') return true
  if (adapter) return false
  return !freezeBackbone || (role === 'language' && name === 'lm_head.weight')
}

export function refuseNothingToTrain(role: Role, { decoder }: ModelConfig, { freezeBackbone }: Settings): void {
  if (freezeBackbone && role === 'language' && decoder.tiedEmbeddings)
    throw new ModelError(
      'freezeBackbone leaves nothing to train: the output matrix is the embedding (tie_word_embeddings)',
    )
}

export function settingsOf(options: LoadOptions<Role>): Settings {
  const device = options.device ?? 'cpu'
  return {
    device,
    dtype: options.dtype ?? (device === 'cpu' ? 'float32' : 'bfloat16'),
    tokenBudget: options.tokenBudget ?? (device === 'cpu' ? 2048 : 32768),
    recompute: options.recompute ?? false,
    freezeBackbone: options.freezeBackbone ?? false,
    optimizer: options.optimizer ?? {},
  }
}

export async function openAdapter(
  adapter: LoadOptions<Role>['adapter'],
  config: ModelConfig,
  settings: Settings,
  tensors: ReadonlyMap<string, Tensor>,
): Promise<Adapter | undefined> {
  if (adapter === undefined) return undefined
  try {
    if (typeof adapter === 'object') return Adapter.create(config.decoder, { ...adapter, ...settings })
    return await Adapter.load(adapter, config.decoder, { ...settings, head: tensors.get('score.weight') })
  } catch (error) {
    for (const tensor of tensors.values()) tensor.dispose()
    throw error
  }
}

/** A critic starts at zero everywhere, so that it misleads nobody; a reward model as transformers starts one. */
export function initializeHead(role: Role, head: Tensor, config: ModelConfig, seed: number): void {
  scope(() =>
    noGrad(() => {
      if (role === 'value') head.copy_(zeros(head.shape))
      else head.copy_(seeded(head.shape, config.decoder.initRange, seed))
    }),
  )
}

function seeded(shape: readonly number[], scale: number, seed: number): Tensor {
  const generator = new Generator({ seed })
  try {
    return randn(shape, { generator }).mul(scale)
  } finally {
    generator.dispose()
  }
}
