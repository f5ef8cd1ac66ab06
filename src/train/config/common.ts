/** Options of every training: model, device, optimiser, evaluation and checkpoints. */
import { z } from 'zod'
import { type Projection, projections } from '../../decoder/index.js'
import { devicesOption } from '../../distributed/index.js'
import { createSchedule, devicePattern, expectedDevice, type Schedule } from '../../tensor/index.js'
import { loggersOption } from './loggers.js'

export const path = z.string().min(1)

/** The optimiser of one model; a critic has its own. */
export const optimizerShape = {
  lr: z.number().positive().describe('peak learning rate'),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('learning rate after warm-up: constant, or linear or cosine decay to minLrRatio'),
  warmupSteps: z.int().min(0).optional().describe('steps of linear warm-up from 0 (default: from warmupRatio)'),
  warmupRatio: z.number().min(0).max(1).default(0).describe('steps of warm-up as a share of all steps'),
  minLrRatio: z.number().min(0).max(1).default(0).describe('final learning rate as a share of lr'),
  betas: z
    .tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)])
    .default([0.9, 0.999])
    .describe('betas of AdamW'),
  eps: z.number().positive().default(1e-8).describe('epsilon of AdamW'),
  weightDecay: z.number().min(0).default(0).describe('weight decay of AdamW; norms and biases have none'),
  masters: z
    .enum(['dither', 'exact'])
    .default('dither')
    .describe(
      'initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight',
    ),
  maxGradNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('gradient clipping: the largest global norm; null: no clipping'),
  shard: z
    .boolean()
    .default(false)
    .describe(
      'divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results',
    ),
}

/** Schema of an optimiser with the default learning rate of a training. */
export const optimizerSchema = (lr: number) =>
  z
    .strictObject({ ...optimizerShape, lr: optimizerShape.lr.default(lr).describe(optimizerShape.lr.description!) })
    .refine(({ warmupSteps, warmupRatio }) => warmupSteps === undefined || warmupRatio === 0, {
      path: ['warmupRatio'],
      error: 'give warmupSteps or warmupRatio, not both',
    })
    .prefault({})
export type OptimizerConfig = z.output<ReturnType<typeof optimizerSchema>>

const loraSchema = z.strictObject({
  rank: z.int().min(1).default(16).describe('LoRA rank: the inner dimension of both adapter matrices'),
  alpha: z.number().positive().default(32).describe('the adapter scale is alpha / rank'),
  dropout: z.number().min(0).lt(1).default(0).describe('dropout of the adapter input during training'),
  targets: z
    .array(z.enum(projections as readonly [Projection, ...Projection[]]))
    .min(1)
    .default([...projections])
    .describe('the projections that get an adapter'),
})
export type LoraConfig = z.output<typeof loraSchema>

const pixels = z.int().min(1)

/** How images and videos are read. */
export const mediaSchema = z.strictObject({
  minPixels: pixels
    .optional()
    .describe('fewest pixels of an image; smaller images are enlarged (default: the limit in the model directory)'),
  maxPixels: pixels
    .optional()
    .describe(
      'most pixels of an image; larger images are shrunk and have fewer tokens (default: the limit in the model directory)',
    ),
  videoMinPixels: pixels.optional().describe('fewest pixels of a video frame; for Qwen3-VL: of all frames together'),
  videoMaxPixels: pixels.optional().describe('most pixels of a video frame; for Qwen3-VL: of all frames together'),
  urls: z
    .enum(['refused', 'public'])
    .default('refused')
    .describe(
      'http and https URLs of images and videos. refused: a bad row; public: fetch, but never from private networks',
    ),
  ffmpeg: path.optional().describe('the program that reads video files (default: ffmpeg on the PATH)'),
})
/** As a program gives them. */
export type MediaSettings = z.input<typeof mediaSchema>

/** A model and how it computes. */
export const modelShape = {
  model: path.describe('the model to train: a Hugging Face model directory, or an id of the Hub: org/name'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one)'),
  devices: devicesOption,
  dtype: z
    .enum(['float32', 'bfloat16', 'float16'])
    .optional()
    .describe('dtype of the weights (default: float32 on a CPU; bfloat16 on a GPU, with float32 master weights)'),
  residualDtype: z
    .literal('float32')
    .optional()
    .describe(
      'dtype of the residual stream; float32 with bfloat16 weights halves the difference between the log-probabilities of engine and trainer and costs a few percent of speed (Hopper GPUs only; default: dtype of the weights)',
    ),
  lora: loraSchema.optional().describe('train a new LoRA adapter and freeze the weights of the model'),
  adapter: path.optional().describe('directory of an existing LoRA adapter in PEFT format; training continues from it'),
  gradientCheckpointing: z
    .boolean()
    .default(false)
    .describe('keep only the input of each layer for the backward pass and recompute the rest: less memory, slower'),
  tokenBudget: z
    .int()
    .min(1)
    .optional()
    .describe(
      'most tokens of one forward pass; gradients accumulate over as many passes as a batch needs; affects memory use, not results',
    ),
  freezeVision: z
    .enum(['tower', 'merger', 'all'])
    .optional()
    .describe(
      'part of a vision tower that is not trained. tower: its blocks; merger: the mergers behind them; all: both, and each image is computed once for the whole run (default: all of the tower is trained, except with an adapter)',
    ),
  patchBudget: z
    .int()
    .min(1)
    .optional()
    .describe(
      'most patches of images and videos in one pass of the vision tower (default: 4096 on a CPU, 16384 on a GPU); affects memory use, not results',
    ),
  media: mediaSchema.optional().describe('how to read images and videos'),
}

/** Options of the run: directory, seed, checkpoints. */
export const runShape = {
  output: path.describe('run directory: logs, checkpoints and exported models'),
  seed: z.int().min(0).default(0).describe('seed of all random numbers'),
  maxSteps: z.int().min(1).optional().describe('stop after this many optimiser steps'),
  saveSteps: z.int().min(1).default(100).describe('optimiser steps between checkpoints'),
  keep: z
    .enum(['models', 'adapters'])
    .default('models')
    .describe(
      'models that a LoRA run writes. models: the adapter, and a model with the adapter merged into it; adapters: the adapter alone, a few megabytes',
    ),
  keepCheckpoints: z.int().min(1).default(2).describe('number of latest checkpoints to keep'),
  loggers: loggersOption,
}

/** Why `keep` cannot be what it is; undefined if it can. */
export function keepProblem(config: {
  keep: string
  lora?: unknown
  adapter?: unknown
  model?: unknown
}): string | undefined {
  if (config.keep !== 'adapters' || config.lora !== undefined || config.adapter !== undefined) return undefined
  return 'adapters needs lora or adapter, and this run trains all weights'
}

/** Everything that trains on the rows of a dataset, epoch by epoch. */
export const epochShape = {
  epochs: z.int().min(1).default(1).describe('passes over the data'),
  batchSize: z.int().min(1).default(32).describe('rows per optimiser step; tokenBudget splits them to fit into memory'),
  evalSteps: z
    .int()
    .min(1)
    .optional()
    .describe('optimiser steps between evaluations on validation data (default: once an epoch)'),
}

/** Keys that a resumed run may change: they affect outputs and speed, not the weights. */
export const harmlessKeys: readonly string[] = [
  ...['output', 'maxSteps', 'saveSteps', 'keep', 'keepCheckpoints', 'loggers'],
  ...['devices', 'optimizer.shard', 'critic.optimizer.shard'],
]

/** Rate and AdamW's options of a step. */
export interface StepRates {
  readonly lr: number
  readonly clipNorm?: number
  readonly betas: readonly [number, number]
  readonly eps: number
  readonly weightDecay: number
}

/**
 * Options of every optimiser step of a run of `totalSteps`; an invalid schedule is an error before the start. Steps count from 0.
 * With warm-up the first step has a learning rate above 0, because a step of rate 0 would be useless.
 */
export function stepRates(optimizer: OptimizerConfig, totalSteps: number): (step: number) => StepRates {
  const { lr, schedule: kind, warmupRatio, minLrRatio: floor, betas, eps, weightDecay, maxGradNorm } = optimizer
  const warmupSteps = Math.min(optimizer.warmupSteps ?? Math.ceil(warmupRatio * totalSteps), totalSteps)
  const factor: Schedule =
    kind === 'constant'
      ? createSchedule({ kind, warmupSteps })
      : createSchedule({ kind, warmupSteps, totalSteps: Math.max(totalSteps, 1), floor })
  const rest = { betas, eps, weightDecay, ...(maxGradNorm === null ? {} : { clipNorm: maxGradNorm }) }
  return step => ({ lr: lr * factor(step < warmupSteps ? step + 1 : step), ...rest })
}
