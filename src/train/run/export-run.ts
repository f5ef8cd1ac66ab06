/** The model of a run as a directory that others load, from one of its checkpoints. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ExportOptions, type ExportReport, stateDtype } from '../../model/index.js'
import { type Checkpoint, Run, type RunView } from '../../run/index.js'
import { type Training, type TrainingConfig, trainings } from '../trainings.js'
import { TrainingError } from './errors.js'
import { type LoadContext, loadTrained } from './load-model.js'

interface ExportRunOptions extends Pick<ExportOptions, 'what' | 'dtype'> {
  readonly out: string
  /** Of which checkpoint. Default: the newest one. */
  readonly step?: number | undefined
}

/**
 * Exports the model that a run trains. With `dtype: 'float32'` the weights have all digits that training gave them.
 *
 * @example
 * const { signal } = new AbortController()
 * const what = { out: 'models/rl-float32', what: 'model', dtype: 'float32' } as const
 * await exportRun('runs/rl', what, { report: silentReport, signal })
 */
export async function exportRun(
  directory: string,
  { step, ...options }: ExportRunOptions,
  context: LoadContext,
): Promise<ExportReport & { step: number }> {
  for (;;) {
    const view = await Run.read(directory)
    const found = step === undefined ? await view.latest() : await view.checkpoint(step)
    if (!found) {
      if (step === undefined) throw new TrainingError(`${directory} has no checkpoint yet`)
      const there = view.checkpoints.join(', ') || 'none'
      throw new TrainingError(`${directory} has no whole checkpoint of step ${step}; there are: ${there}`)
    }
    try {
      return { ...(await exportCheckpoint(view, found, options, context)), step: found.step }
    } catch (error) {
      if (existsSync(found.directory)) throw error
      // A run that trains keeps its newest checkpoints alone. The newest of all is another one now.
      if (step === undefined) continue
      throw new TrainingError(`${directory}: the run removed its checkpoint of step ${step} while it was read`, {
        cause: error,
        remedy: 'Take a newer one, or give the run a larger keepCheckpoints.',
      })
    }
  }
}

async function exportCheckpoint(
  { directory, config: recorded }: RunView,
  found: Checkpoint,
  { out, what, dtype }: Omit<ExportRunOptions, 'step'>,
  context: LoadContext,
): Promise<ExportReport> {
  const { command } = recorded
  const training: Training | undefined = Object.hasOwn(trainings, command) ? trainings[command] : undefined
  if (!training) throw new TrainingError(`${directory} is a run of ${command}, which trains no model`)
  const state = join(found.directory, command === 'rl' ? 'actor' : 'model')
  const config = recorded.config as unknown as TrainingConfig & { readonly freezeBackbone?: boolean }
  const { role } = training.plan(config).models[0]
  const { model: source, lora, adapter, seed, optimizer, chatTemplate, freezeBackbone, freezeVision } = config
  // With the chat template that the run was given, as its other models have it.
  const isGiven = chatTemplate !== undefined && chatTemplate !== 'auto' && chatTemplate !== 'none'
  const model = await loadTrained(
    source,
    {
      ...{ role, what: source, device: 'cpu', gradientCheckpointing: false, seed, lora, adapter },
      dtype: await stateDtype(state),
      optimizer,
      ...(isGiven ? { texts: join(directory, 'tokenizer') } : {}),
      ...(freezeBackbone === undefined ? {} : { freezeBackbone }),
      ...(freezeVision === undefined ? {} : { freezeVision }),
    },
    context,
  )
  try {
    await model.loadState(state)
    return await model.export(out, { what, ...(dtype && { dtype }) })
  } finally {
    model.dispose()
  }
}
