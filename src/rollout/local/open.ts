/** Opens a model directory as an engine. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldOf } from '../../decoder/index.js'
import { recoverDirectory } from '../../files/index.js'
import { type LoadOptions, LocalModel } from '../../model/index.js'
import { type LoadTokenizerOptions, Tokenizer } from '../../text/index.js'
import { LocalEngine } from './engine.js'
import type { LocalEngineOptions } from './engine-options.js'
import { ReplaceableWeights } from './replaceable-weights.js'

export interface OpenOptions
  extends Pick<LoadOptions<'language'>, 'adapter' | 'device' | 'signal' | 'onProgress'>,
    Omit<LocalEngineOptions, 'tokenizer' | 'eosIds'>,
    LoadTokenizerOptions {}

export interface OpenedEngine {
  model: LocalModel<'language'>
  /** Undefined where the directory has no tokenizer: prompts are ids. */
  tokenizer: Tokenizer | undefined
  engine: LocalEngine
  /** For a server whose clients load other weights. */
  weights: ReplaceableWeights
  close(): Promise<void>
}

export async function openEngine(directory: string, options: OpenOptions = {}): Promise<OpenedEngine> {
  const { adapter, device, signal, onProgress, chatTemplate, ...rest } = options
  await recoverDirectory(directory)
  const tokenizer = existsSync(join(directory, 'tokenizer.json'))
    ? await Tokenizer.load(directory, { chatTemplate })
    : undefined
  const model = await LocalModel.load(directory, {
    role: 'language',
    ...(adapter === undefined ? {} : { adapter }),
    ...(device === undefined ? {} : { device }),
    ...(signal ? { signal } : {}),
    ...(onProgress ? { onProgress } : {}),
  })
  try {
    // Nothing is trained here.
    if (adapter !== undefined) await model.mergeAdapter()
    const stops = tokenizer ? { tokenizer } : { eosIds: await configuredStops(directory, model.config.raw) }
    const engine = new LocalEngine(model, { ...rest, ...stops })
    const close = async (): Promise<void> => {
      await engine.close()
      model.dispose()
    }
    return { model, tokenizer, engine, weights: new ReplaceableWeights(model, engine), close }
  } catch (error) {
    model.dispose()
    throw error
  }
}

/** The end-of-sequence ids of a directory without a tokenizer. */
export async function configuredStops(directory: string, config: Readonly<Record<string, unknown>>): Promise<number[]> {
  const file = join(directory, 'generation_config.json')
  const generation = existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>) : {}
  const ids = [generation.eos_token_id ?? fieldOf(config, 'eos_token_id') ?? []].flat()
  return ids.filter(id => typeof id === 'number')
}
