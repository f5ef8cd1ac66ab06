/** How a model is made: its options, their defaults, and the parts a checkpoint may not have. */

import { join } from 'node:path'
import {
  familyOf,
  type HeadLayout,
  isMergerWeight,
  isVisionWeight,
  type ModelConfig,
  parameterCount,
  readConfig,
  type Weight,
  weightMap,
} from '../decoder/index.js'
import { readMediaConfig, type VisionFamily } from '../media/index.js'
import {
  type AdamWOptions,
  adamWRates,
  Checkpoint,
  type Device,
  type DType,
  noGrad,
  RandomGenerator,
  randn,
  requireDevice,
  scope,
  type Tensor,
  zeros,
} from '../tensor/index.js'
import { Adapter, adapterWeightsFile } from './adapter.js'
import type { AdapterOptions } from './adapter-config.js'
import { ModelError } from './errors.js'
import { fitToCheckpoint, refuseTooLarge } from './fit-checkpoint.js'
import { type MastersKind, sourcesWithMoreBits } from './masters.js'
import { type Role, roles } from './outputs.js'
import type { Replicas } from './replicas.js'
import type { PolicyVersion } from './token-model.js'
import type { PixelScale } from './tower-inputs.js'
import { checkWeights, initializeWeights, type LoadProgress, readWeights } from './weights.js'

export interface LoadOptions<R extends Role> {
  /** Default: what the checkpoint is. A critic or a reward model may be made from a policy's checkpoint. */
  role?: R
  device?: Device
  /** Default float32 on the CPU, bfloat16 on CUDA (trained through float32 copies). */
  dtype?: DType
  /** A directory with an adapter in PEFT's format, or a new one. */
  adapter?: string | (AdapterOptions & { seed: number })
  /** Keep only each layer's input for the backward pass, and compute the rest again. */
  gradientCheckpointing?: boolean
  /**
   * Default: the sum between layers has the weights' dtype. `float32`, with weights in bfloat16 on Hopper GPUs: log-probabilities
   * of scoring, training and generation are half as far apart and half as far from exact, for slower prefill and training.
   */
  residualDtype?: 'float32'
  /** Train the head alone. */
  freezeBackbone?: boolean
  /**
   * What of a vision tower is not trained: its blocks (`tower`), the mergers behind them (`merger`), or both (`all`). Rows that no
   * gradient goes through are computed once for each image or video. Default: all of the tower is trained.
   */
  freezeVision?: FreezeVision
  optimizer?: OptimizerOptions
  /** Rows of a batch. Default 2048 on the CPU, 32768 on CUDA. */
  tokenBudget?: number
  /** Patches of images and videos in a pass of the vision tower. Default 4096 on the CPU, 16384 on CUDA. */
  patchBudget?: number
  /** Optimiser steps behind these weights, where a training goes on from them. Default 0. */
  version?: PolicyVersion
  /** The directory whose tokenizer and generation config an export gets. Default: the model's own. */
  texts?: string
  /** Of a head that the checkpoint does not have, of masters, and of an adapter's dropout. Default 0. */
  seed?: number
  signal?: AbortSignal
  onProgress?: (progress: LoadProgress) => void
  /** The processes that hold this model and train it together. @internal */
  replicas?: Replicas
}

export type FreezeVision = 'tower' | 'merger' | 'all'

export interface OptimizerOptions extends Pick<AdamWOptions, 'betas' | 'eps' | 'weightDecay'> {
  /** Where the float32 copies of 16-bit weights start. Default `dither`. */
  masters?: MastersKind
  /** Kinds of weights that do not decay. */
  noDecay?: readonly Weight['kind'][]
  /** Of a model on several ranks: each rank keeps a part of the float32 copies and moments. Affects memory use, not results. */
  shard?: boolean
}

export interface Settings {
  device: Device
  dtype: DType
  tokenBudget: number
  patchBudget: number
  gradientCheckpointing: boolean
  residualDtype: 'float32' | 'weights'
  freezeBackbone: boolean
  freezeVision: FreezeVision | undefined
  optimizer: OptimizerOptions
  /** Of what is drawn while training. */
  seed: number
}

/** What a model is made of. Who asked for it disposes the tensors and the adapter. */
export interface ModelParts<R extends Role = Role> {
  role: R
  config: ModelConfig
  tensors: ReadonlyMap<string, Tensor>
  adapter: Adapter | undefined
  settings: Settings
  version: PolicyVersion
  /** The directory it comes from. */
  source: string | undefined
  /** The directory whose tokenizer and generation config an export gets. */
  texts: string | undefined
  /** Files with more digits than the weights have; training starts from theirs. */
  masterSources: readonly string[]
  /** Of pixels; undefined for models that read only text. */
  pixelScale: PixelScale | undefined
  replicas: Replicas | undefined
}

/** What a checkpoint of another head may lack, and what it may have that a model has no place for. */
export const tolerated = ({ head }: ModelConfig) => ({
  optional: (name: string) => name === 'score.weight' && head === 'language',
  // A tied or replaced output matrix, and frequencies that old checkpoints carry, have no place here.
  ignored: (name: string) => name === 'lm_head.weight' || name.endsWith('.rotary_emb.inv_freq'),
})

/** The config of a model directory as its checkpoint bears it out, and the role that it is to have. */
async function readShape<R extends Role>(
  directory: string,
  wanted: R | undefined,
): Promise<{ config: ModelConfig; role: R; weights: readonly Weight[] }> {
  checkRole(wanted)
  const config = await fitToCheckpoint(directory, await readConfig(directory))
  const role = wanted ?? ((config.head === 'language' ? 'language' : 'reward') as R)
  if (role === 'language' && config.head === 'score')
    throw new ModelError(`${directory} is a reward model and has no logits; expected a language model`)
  return { config, role, weights: weightMap(config.decoder, headOf(role)) }
}

/**
 * What a model directory holds, by `config.json` and the headers of its weights: whatever would keep it from being loaded in
 * that role is an error, and no weight is read.
 *
 * @example
 * const { config, parameters } = await inspectModel('models/qwen', { role: 'reward' })
 */
export async function inspectModel(
  directory: string,
  options: { role?: Role } = {},
): Promise<{ config: ModelConfig; role: Role; parameters: number }> {
  const { config, role, weights } = await readShape(directory, options.role)
  const checkpoint = await Checkpoint.open(directory)
  try {
    checkWeights(directory, checkpoint, weights, tolerated(config))
  } finally {
    await checkpoint.close()
  }
  return { config, role, parameters: parameterCount(weights) }
}

/** From a Hugging Face model directory. */
export async function readModel<R extends Role>(directory: string, options: LoadOptions<R>): Promise<ModelParts<R>> {
  const { config, role, weights } = await readShape(directory, options.role)
  const settings = settingsOf(options)
  const version = checkVersion(options.version ?? 0)
  refuseNothingToTrain(role, config, settings)
  const { texts = directory } = options
  const pixelScale = await readPixelScale(directory, config)
  const { tensors, missing } = await readWeights(directory, weights, {
    ...settings,
    ...tolerated(config),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.onProgress ? { onProgress: options.onProgress } : {}),
  })
  if (missing.has('score.weight')) initializeHead(role, tensors.get('score.weight')!, config, options.seed ?? 0)
  const adapter = await openAdapter(options.adapter, config, settings, tensors)
  const read = [directory, ...(typeof options.adapter === 'string' ? [join(options.adapter, adapterWeightsFile)] : [])]
  const masterSources = await sourcesWithMoreBits(read, settings.dtype)
  const made = { role, config, tensors, adapter, settings, version }
  return { ...made, source: directory, texts, masterSources, pixelScale, replicas: options.replicas }
}

/** How pixels are scaled for the vision tower of a directory, which has to cut them as its processor does. */
async function readPixelScale(directory: string, { decoder }: ModelConfig): Promise<PixelScale | undefined> {
  const { vision, family } = decoder
  if (!vision) return undefined
  const { patchSize, mergeSize, temporalPatchSize, mean, std } = await readMediaConfig(
    directory,
    family as VisionFamily,
  )
  if (patchSize !== vision.patch || mergeSize !== vision.merge || temporalPatchSize !== vision.temporalPatch)
    throw new ModelError(
      `${directory}: the processor cuts patches of ${temporalPatchSize} x ${patchSize}, ${mergeSize} to a token's side; the model's vision_config says ${vision.temporalPatch} x ${vision.patch} and ${vision.merge}`,
    )
  return { mean, std }
}

/** With random weights. */
export async function randomModel<R extends Role>(
  config: ModelConfig,
  options: Omit<LoadOptions<R>, 'role'> & { role: R; seed: number },
): Promise<ModelParts<R>> {
  const { role, seed } = options
  checkRole(role)
  const settings = settingsOf(options)
  const version = checkVersion(options.version ?? 0)
  refuseNothingToTrain(role, config, settings)
  const weights = weightMap(config.decoder, headOf(role))
  refuseTooLarge(parameterCount(weights), settings)
  const tensors = await initializeWeights(weights, config.decoder, { ...settings, seed })
  const adapter = await openAdapter(options.adapter, config, settings, tensors)
  return {
    role,
    config,
    tensors,
    adapter,
    settings,
    version,
    source: undefined,
    texts: options.texts,
    masterSources: [],
    pixelScale: familyOf(config.decoder.family).vision?.pixels,
    replicas: options.replicas,
  }
}

function checkRole(role: unknown): void {
  if (role !== undefined && !(roles as readonly unknown[]).includes(role))
    throw new RangeError(`a role is one of ${roles.join(', ')}, got ${JSON.stringify(role)}`)
}

function checkTokenBudget(tokenBudget: number): number {
  if (!(tokenBudget > 0)) throw new RangeError(`tokenBudget is a positive number of rows, got ${tokenBudget}`)
  return tokenBudget
}

function checkPatchBudget(patchBudget: number): number {
  if (!(patchBudget > 0)) throw new RangeError(`patchBudget is a positive number of patches, got ${patchBudget}`)
  return patchBudget
}

function checkFreezeVision(freezeVision: FreezeVision | undefined): FreezeVision | undefined {
  if (freezeVision !== undefined && !['tower', 'merger', 'all'].includes(freezeVision))
    throw new RangeError(`freezeVision is tower, merger or all, got ${JSON.stringify(freezeVision)}`)
  return freezeVision
}

function checkOptimizer(optimizer: OptimizerOptions): OptimizerOptions {
  const { masters = 'dither', shard: _, ...rates } = optimizer
  adamWRates({ ...rates, lr: 0 })
  if (masters !== 'dither' && masters !== 'exact')
    throw new RangeError(`masters is dither or exact, got ${JSON.stringify(masters)}`)
  return optimizer
}

function checkSeed(seed: number): number {
  if (!Number.isSafeInteger(seed)) throw new RangeError(`a seed is an integer, got ${seed}`)
  return seed
}

function checkVersion(version: PolicyVersion): PolicyVersion {
  if (!Number.isSafeInteger(version) || version < 0)
    throw new RangeError(`a version counts optimiser steps, got ${version}`)
  return version
}

export function headOf(role: Role): HeadLayout {
  return role === 'language' ? 'language' : 'score'
}

/** An adapter leaves the weights alone, except a head of one number, which no language model comes with. */
export function trains(name: string, role: Role, adapter: Adapter | undefined, settings: Settings): boolean {
  const { freezeBackbone, freezeVision } = settings
  if (name === 'score.weight') return true
  if (adapter) return false
  if (isVisionWeight(name) && freezeVision)
    return freezeVision === 'all' ? false : !freezeBackbone && isMergerWeight(name) === (freezeVision === 'tower')
  return !freezeBackbone || (role === 'language' && name === 'lm_head.weight')
}

function refuseNothingToTrain(role: Role, { decoder }: ModelConfig, settings: Settings): void {
  const { freezeBackbone, freezeVision } = settings
  if (freezeVision && !decoder.vision) throw new ModelError('freezeVision: this model has no vision tower')
  if (freezeBackbone && role === 'language' && decoder.tiedEmbeddings)
    throw new ModelError(
      'freezeBackbone: there is nothing to train, because the output matrix is tied to the embedding (tie_word_embeddings)',
    )
}

function settingsOf(options: LoadOptions<Role>): Settings {
  const device = requireDevice(options.device ?? 'cpu')
  return {
    device,
    dtype: options.dtype ?? (device === 'cpu' ? 'float32' : 'bfloat16'),
    tokenBudget: checkTokenBudget(options.tokenBudget ?? (device === 'cpu' ? 2048 : 32768)),
    gradientCheckpointing: options.gradientCheckpointing ?? false,
    residualDtype: options.residualDtype ?? 'weights',
    freezeBackbone: options.freezeBackbone ?? false,
    freezeVision: checkFreezeVision(options.freezeVision),
    patchBudget: checkPatchBudget(options.patchBudget ?? (device === 'cpu' ? 4096 : 16384)),
    optimizer: checkOptimizer(options.optimizer ?? {}),
    seed: checkSeed(options.seed ?? 0),
  }
}

async function openAdapter(
  adapter: LoadOptions<Role>['adapter'],
  config: ModelConfig,
  settings: Settings,
  tensors: ReadonlyMap<string, Tensor>,
): Promise<Adapter | undefined> {
  if (adapter === undefined) return undefined
  try {
    if (typeof adapter === 'object') return Adapter.create(config.decoder, { ...settings, ...adapter })
    return await Adapter.load(adapter, config.decoder, { ...settings, head: tensors.get('score.weight') })
  } catch (error) {
    for (const tensor of tensors.values()) tensor.dispose()
    throw error
  }
}

/** A critic starts at zero, so that its first values do not distort advantages; a reward model starts as in transformers. */
function initializeHead(role: Role, head: Tensor, config: ModelConfig, seed: number): void {
  scope(() =>
    noGrad(() => {
      if (role === 'value') head.copy_(zeros(head.shape))
      else head.copy_(seeded(head.shape, config.decoder.initRange, seed))
    }),
  )
}

function seeded(shape: readonly number[], scale: number, seed: number): Tensor {
  const generator = new RandomGenerator({ seed })
  try {
    return randn(shape, { generator }).mul(scale)
  } finally {
    generator.dispose()
  }
}
