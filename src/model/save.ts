/** Writing a model directory so that a kill at any instant leaves the old one or the new one. */

import { randomBytes } from 'node:crypto'
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { writeFileAtomic } from '../files/index.js'
import { type Tensor, writeCheckpoint } from '../tensor/index.js'

/** What a tokenizer consists of. */
export const tokenizerFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
  'chat_template.json',
  'additional_chat_templates',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
]

interface SaveOptions {
  config: Readonly<Record<string, unknown>>
  tensors: ReadonlyMap<string, Tensor>
  /** Where the tokenizer and the generation config are copied from. */
  source: string | undefined
  maxShardBytes?: number
}

export async function saveModel(directory: string, options: SaveOptions): Promise<void> {
  const target = resolve(directory)
  if (await exists(target)) return fill(target, options)
  // A directory that is new appears whole, by one rename.
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await mkdir(temporary, { recursive: true })
    await fill(temporary, options)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw error
  }
}

async function fill(directory: string, { config, tensors, source, maxShardBytes }: SaveOptions): Promise<void> {
  if (source && resolve(source) !== directory) {
    for (const name of ['generation_config.json', ...tokenizerFiles]) {
      const from = join(source, name)
      if (await exists(from)) await cp(from, join(directory, name), { recursive: true })
    }
  }
  await writeFileAtomic(join(directory, 'config.json'), `${JSON.stringify(config, null, 2)}\n`)
  await writeCheckpoint(directory, tensors, maxShardBytes === undefined ? {} : { maxShardBytes })
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
