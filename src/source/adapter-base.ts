/** An adapter alone as a model: its base is the one that it names. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../errors/index.js'
import { type LocateOptions, locateModel } from './locate.js'

interface ModelWithAdapter {
  readonly model: string
  readonly adapter?: string | undefined
}

/**
 * The base model and the adapter, where `model` is the directory of an adapter in PEFT's format; else what was given.
 *
 * @example
 * await withBase({ model: 'runs/sft/best_adapter' }) // { model: '/models/base', adapter: 'runs/sft/best_adapter' }
 */
export async function withBase(given: ModelWithAdapter, options: LocateOptions = {}): Promise<ModelWithAdapter> {
  const { model } = given
  const file = join(model, 'adapter_config.json')
  if (existsSync(join(model, 'config.json')) || !existsSync(file)) return given
  if (given.adapter !== undefined)
    throw new InputError(
      `model: ${model} is a LoRA adapter, and ${given.adapter} is another; give the base model and one of them`,
    )
  const name = await baseName(file)
  const remedy = `Give the base model, and the adapter beside it: --model BASE --adapter ${model}.`
  if (name === undefined)
    throw new InputError(`model: ${model} is a LoRA adapter that does not name its base model`, { remedy })
  const { directory, origin } = await locateModel(name, options)
  if (origin.kind === 'path' && !existsSync(directory))
    throw new InputError(`model: ${model} is a LoRA adapter of ${name}, which does not exist`, { remedy })
  return { model: directory, adapter: model }
}

async function baseName(file: string): Promise<string | undefined> {
  try {
    const { base_model_name_or_path: name } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    return typeof name === 'string' && name !== '' ? name : undefined
  } catch (cause) {
    throw new InputError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
