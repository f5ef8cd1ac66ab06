/** Recomputes the training batches of a run and compares them with the training. */
import type { Definition } from '../maths/index.js'
import { Run } from '../run/index.js'
import { replayRl, replaySupervised } from '../train/index.js'

export interface ReplayOptions {
  /** Losses, estimators and other definitions that the run got in code. Those of files are loaded again. */
  readonly definitions?: readonly Definition[]
  /** Ends the work. */
  readonly signal?: AbortSignal
}

export interface Replayed {
  /** All batches were compared, and all are equal. */
  readonly equal: boolean
  /** How many batches were compared, in words. */
  readonly compared: string
  /** Each difference, with its row or sample. */
  readonly differences: readonly string[]
  /** Batches that could not be compared, with the reason. */
  readonly notCompared: readonly string[]
}

/**
 * Recomputes every training batch of a run from its journal and its data, without the model, and compares it with the batch that the run
 * trained on.
 *
 * @example
 * const { equal, differences } = await replay('runs/grpo')
 */
export async function replay(directory: string, options: ReplayOptions = {}): Promise<Replayed> {
  const { config, journal } = await Run.read(directory)
  await journal.checkVersion()
  const found = config.command === 'rl' ? await rollouts(directory, options) : await rows(directory, options)
  return { equal: found.differences.length + found.notCompared.length === 0, ...found }
}

async function rollouts(directory: string, options: ReplayOptions): Promise<Omit<Replayed, 'equal'>> {
  const { iterations, samples, updates, mismatches, notCompared } = await replayRl(directory, options)
  return {
    compared: `${iterations} iterations, ${samples} samples and ${updates} optimiser steps recomputed`,
    differences: mismatches,
    notCompared,
  }
}

async function rows(directory: string, options: ReplayOptions): Promise<Omit<Replayed, 'equal'>> {
  const { batches, rows, mismatches, notCompared, changedFiles } = await replaySupervised(directory, options)
  const place = (where: string | undefined): string => (where === undefined ? '' : ` (${where})`)
  return {
    compared: `${batches} batches of ${rows} rows recomputed`,
    differences: [
      ...changedFiles.map(path => `${path} has changed since the run started`),
      ...mismatches.map(({ step, row, where, message }) => `step ${step}, row ${row}${place(where)}: ${message}`),
    ],
    notCompared,
  }
}
