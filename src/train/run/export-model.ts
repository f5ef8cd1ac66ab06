import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenModel } from '../../model/index.js'

export interface ExportedModel {
  /** The run directory. */
  readonly run: string
  /** `best` is `best_model`, and `best_adapter` of a model with an adapter. */
  readonly name: 'best' | 'final' | 'ema'
  /** `adapters`: of a model with an adapter, the adapter alone. */
  readonly keep: 'models' | 'adapters'
}

/**
 * Writes a model into its run as `best_model` or `final_model`, a directory that can be served and loaded anywhere. An adapter is
 * part of it, and is also written alone, in PEFT's format, as `best_adapter` or `final_adapter`.
 */
export async function exportModel(model: TokenModel, { run, name, keep }: ExportedModel): Promise<void> {
  const adapted = model.capabilities.exports.includes('adapter')
  if (!adapted || keep === 'models') {
    const directory = join(run, `${name}_model`)
    await model.export(directory, { what: 'model' })
    await addTokenizer(directory, run)
  }
  if (adapted && name !== 'ema') await model.export(join(run, `${name}_adapter`), { what: 'adapter' })
  if (adapted && name === 'ema' && keep === 'adapters')
    await model.export(join(run, 'ema_adapter'), { what: 'adapter' })
}

/** A model that a program made may have no tokenizer: it gets the run's. */
async function addTokenizer(directory: string, run: string): Promise<void> {
  const tokenizer = join(run, 'tokenizer')
  if (!existsSync(join(directory, 'tokenizer.json')) && existsSync(tokenizer))
    await cp(tokenizer, directory, { recursive: true, force: false })
}
