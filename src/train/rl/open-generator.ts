/** What generates a run's samples. */
import { basename, join } from 'node:path'
import type { LocalModel } from '../../model/index.js'
import { type Generator, LocalEngine } from '../../rollout/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { RlConfig } from './config.js'

export interface OpenGeneratorOptions {
  readonly config: RlConfig
  readonly actor: LocalModel<'language'>
  readonly tokenizer: Tokenizer
}

export interface OpenedGenerator {
  readonly generator: Generator
  close(): Promise<void>
}

export async function openGenerator({ actor, tokenizer }: OpenGeneratorOptions): Promise<OpenedGenerator> {
  // Most of a GPU is the training's: its activations come and go beside the cache.
  const engine = new LocalEngine(actor, { tokenizer, ...(actor.device === 'cpu' ? {} : { cacheShare: 0.2 }) })
  return { generator: engine, close: () => engine.close() }
}

/** Where weights are written for servers to read. */
export function weightsDirectoryOf({ output, generator: { weightsDirectory } }: RlConfig): string {
  return weightsDirectory === undefined ? join(output, 'weights') : join(weightsDirectory, basename(output))
}
