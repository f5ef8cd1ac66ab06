import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenModel } from '../../model/index.js'

/**
 * Writes a model into its run as `best_model` or `final_model`, a directory that can be served and loaded anywhere. An adapter is
 * part of it, and is also written alone, in PEFT's format, as `best_adapter` or `final_adapter`.
 */
export async function exportModel(model: TokenModel, run: string, name: 'best' | 'final'): Promise<void> {
  const directory = join(run, `${name}_model`)
  await model.export(directory, { what: 'model' })
  // A model that a program made may have no tokenizer: it gets the run's.
  const tokenizer = join(run, 'tokenizer')
  if (!existsSync(join(directory, 'tokenizer.json')) && existsSync(tokenizer))
    await cp(tokenizer, directory, { recursive: true, force: false })
  if (model.capabilities.exports.includes('adapter'))
    await model.export(join(run, `${name}_adapter`), { what: 'adapter' })
}
