/** What every training is told: the model, where it runs, how it is optimised, how often it looks at itself. */
import { z } from 'zod'
import { type Projection, projections } from '../../decoder/index.js'
import { createSchedule, devicePattern, expectedDevice, type Schedule } from '../../tensor/index.js'

export const path = z.string().min(1)

/** The optimiser of one model; a critic has its own. */
export const optimizerShape = {
  lr: z.number().positive().describe('the highest learning rate'),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('how the rate moves after warm-up: stays, or falls in a line or along a cosine to minLrRatio'),
  warmupSteps: z.int().min(0).optional().describe('steps over which the rate rises from 0 (default: by warmupRatio)'),
  warmupRatio: z.number().min(0).max(1).default(0).describe('the same as a share of all steps'),
  minLrRatio: z.number().min(0).max(1).default(0).describe('where the rate ends, as a share of lr'),
  betas: z
    .tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)])
    .default([0.9, 0.999])
    .describe("AdamW's"),
  eps: z.number().positive().default(1e-8).describe("AdamW's"),
  weightDecay: z.number().min(0).default(0).describe("AdamW's; norms and biases do not decay"),
  masters: z
    .enum(['dither', 'exact'])
    .default('dither')
    .describe(
      'start of the float32 masters of 16-bit weights: dither starts each at a random place that rounds to its weight, so that small updates count from the first step on; exact starts it at the weight',
    ),
  maxGradNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('gradients are scaled down to this norm; null does not'),
}

/** The optimiser's schema with a trainer's own default rate. */
export const optimizerSchema = (lr: number) =>
  z
    .strictObject({ ...optimizerShape, lr: optimizerShape.lr.default(lr).describe(optimizerShape.lr.description!) })
    .refine(({ warmupSteps, warmupRatio }) => warmupSteps === undefined || warmupRatio === 0, {
      path: ['warmupRatio'],
      error: 'warmupSteps says the same in steps; give one of the two',
    })
    .prefault({})
export type OptimizerConfig = z.output<ReturnType<typeof optimizerSchema>>

export const loraSchema = z.strictObject({
  rank: z.int().min(1).default(16).describe('of the two matrices'),
  alpha: z.number().positive().default(32).describe('the adapter counts alpha / rank'),
  dropout: z.number().min(0).lt(1).default(0).describe("of the adapter's input, while training"),
  targets: z
    .array(z.enum(projections as readonly [Projection, ...Projection[]]))
    .min(1)
    .default([...projections])
    .describe('the projections that get one'),
})
export type LoraConfig = z.output<typeof loraSchema>

/** A model and how it computes. */
export const modelShape = {
  model: path.describe('the model to train: a Hugging Face model directory'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('where models run: cpu, cuda, cuda:N, or auto for a GPU where there is one'),
  dtype: z
    .enum(['float32', 'bfloat16', 'float16'])
    .optional()
    .describe('of the weights (default: float32 on the CPU, bfloat16 on a GPU, trained through float32 copies)'),
  residualDtype: z
    .literal('float32')
    .optional()
    .describe(
      "float32: sums between bfloat16 layers keep all their bits, which halves the gap between engine and trainer and costs a few percent of speed (Hopper GPUs; default: the weights' own)",
    ),
  lora: loraSchema.optional().describe('train an adapter and leave the weights as they are'),
  adapter: path.optional().describe("go on with an adapter, in PEFT's format"),
  gradientCheckpointing: z
    .boolean()
    .default(false)
    .describe("keep only each layer's input for the backward pass and compute the rest again: less memory, slower"),
  tokenBudget: z
    .int()
    .min(1)
    .optional()
    .describe('tokens a forward pass holds; gradients add up over as many as a batch needs; changes memory, no result'),
}

/** The run: where it is kept, what it draws its random numbers from, how often it saves. */
export const runShape = {
  output: path.describe('the run directory'),
  seed: z.int().min(0).default(0).describe('of everything that is drawn'),
  maxSteps: z.int().min(1).optional().describe('stop after this many optimiser steps'),
  saveSteps: z.int().min(1).default(100).describe('optimiser steps between checkpoints'),
  keepCheckpoints: z.int().min(1).default(2).describe('how many of the latest checkpoints stay'),
}

/** Everything that trains on the rows of a dataset, epoch by epoch. */
export const epochShape = {
  epochs: z.int().min(1).default(1).describe('how often every row is seen'),
  batchSize: z.int().min(1).default(32).describe('rows of an optimiser step, whatever fits into memory at once'),
  evalSteps: z
    .int()
    .min(1)
    .optional()
    .describe('optimiser steps between evaluations on validation data (default: once an epoch)'),
}

/** Keys that a resumed run may have otherwise: they change what is written and how fast, no weight. */
export const harmlessKeys: readonly string[] = ['output', 'maxSteps', 'saveSteps', 'keepCheckpoints']

/** Rate and AdamW's options of a step. */
export interface StepRates {
  readonly lr: number
  readonly clipNorm?: number
  readonly betas: readonly [number, number]
  readonly eps: number
  readonly weightDecay: number
}

/**
 * The options of every optimiser step of a run of `totalSteps`; a schedule that cannot be is an error before it starts. Steps
 * count from 0. With warm-up the first step has a rate above 0: a step of rate 0 would be work for nothing.
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
