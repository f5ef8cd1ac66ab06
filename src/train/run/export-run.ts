/** The model of a run as a directory that others load, from its newest checkpoint. */
import { join } from 'node:path'
import { type ExportOptions, type ExportReport, type Role, stateDtype } from '../../model/index.js'
import { Run } from '../../run/index.js'
import type { LoraConfig, OptimizerConfig } from '../config/common.js'
import { TrainingError } from './errors.js'
import { type LoadContext, loadTrained } from './load-model.js'

export interface ExportRunOptions extends Pick<ExportOptions, 'what' | 'dtype'> {
  readonly out: string
}

/** What every training's config has. */
interface TrainedConfig {
  readonly model: string
  readonly optimizer: OptimizerConfig
  readonly lora?: LoraConfig
  readonly adapter?: string
  readonly seed: number
  readonly freezeBackbone?: boolean
}

const roles: Readonly<Record<string, { role: Role; state: string }>> = {
  sft: { role: 'language', state: 'model' },
  preference: { role: 'language', state: 'model' },
  reward: { role: 'reward', state: 'model' },
  rl: { role: 'language', state: 'actor' },
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
  { out, what, dtype }: ExportRunOptions,
  context: LoadContext,
): Promise<ExportReport & { step: number }> {
  const view = await Run.read(directory)
  const { command } = view.config
  const trained = roles[command]
  if (!trained) throw new TrainingError(`${directory} is a run of ${command}, which trains no model`)
  const latest = await view.latest()
  if (!latest) throw new TrainingError(`${directory} has no checkpoint yet`)
  const state = join(latest.directory, trained.state)
  const config = view.config.config as unknown as TrainedConfig
  const { model: source, lora, adapter, seed, optimizer, freezeBackbone } = config
  const model = await loadTrained(
    source,
    {
      ...{ role: trained.role, what: source, device: 'cpu', gradientCheckpointing: false, seed, lora, adapter },
      dtype: await stateDtype(state),
      optimizer,
      ...(freezeBackbone === undefined ? {} : { freezeBackbone }),
    },
    context,
  )
  try {
    await model.loadState(state)
    return { ...(await model.export(out, { what, ...(dtype && { dtype }) })), step: latest.step }
  } finally {
    model.dispose()
  }
}
