/** Assigns samples to the optimiser steps of an iteration, from (seed, iteration, pass) alone. Pure. */
import { Permutation } from '../../data/index.js'
import type { RlConfig } from './config.js'

/** One optimiser step: of the critic, or of the policy. */
export interface PlannedUpdate {
  readonly model: 'critic' | 'policy'
  readonly epoch: number
  /** Places in the rollout. */
  readonly places: readonly number[]
}

interface PlanOptions {
  readonly samples: number
  readonly trainBatchSize: number | undefined
  readonly updateEpochs: number
  readonly seed: number
  readonly iteration: number
  /** Which models train: during warm-up only the critic. */
  readonly models: readonly PlannedUpdate['model'][]
}

/**
 * The updates of an iteration in their order. The critic's come first: they do not depend on the policy's, and each model is
 * brought to a device that holds only one of them once.
 */
export function planUpdates(options: PlanOptions): PlannedUpdate[] {
  const { samples, updateEpochs, models } = options
  if (samples === 0) return []
  const passes = Array.from({ length: updateEpochs }, (_, epoch) => ({ epoch, batches: minibatches(options, epoch) }))
  return (['critic', 'policy'] as const)
    .filter(model => models.includes(model))
    .flatMap(model => passes.flatMap(({ epoch, batches }) => batches.map(places => ({ model, epoch, places }))))
}

/** The same of an iteration of a run. */
export function iterationPlan(
  config: RlConfig,
  { iteration, samples }: { iteration: number; samples: number },
): PlannedUpdate[] {
  const { trainBatchSize, updateEpochs, seed, critic } = config
  const warmingUp = iteration < (critic?.warmupIterations ?? 0)
  const models = [...(critic ? (['critic'] as const) : []), ...(warmingUp ? [] : (['policy'] as const))]
  return planUpdates({ samples, trainBatchSize, updateEpochs, seed, iteration, models })
}

/** One batch of everything keeps its order; several are drawn again in each pass. */
function minibatches({ samples, trainBatchSize, seed, iteration }: PlanOptions, epoch: number): number[][] {
  const places = Array.from({ length: samples }, (_, place) => place)
  if (trainBatchSize === undefined || trainBatchSize >= samples) return [places]
  const order = new Permutation(samples, `minibatches ${seed} ${iteration} ${epoch}`)
  const batches: number[][] = []
  for (let start = 0; start < samples; start += trainBatchSize)
    batches.push(places.slice(start, start + trainBatchSize).map(place => order.at(place)))
  return batches
}
