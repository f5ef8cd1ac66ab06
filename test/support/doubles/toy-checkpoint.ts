/**
 * Directories that hold a version of the toy model, or an adapter for it: one small file that says which. A Hugging Face directory
 * is read as it is.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PolicyVersion } from '../../../src/model/index.js'
import { type ServedWeights, toyWeights } from './toy-model.js'
import { readAdapter, ToyTransformer } from './toy-transformer.js'

interface ToyCheckpoint {
  version: PolicyVersion
  /** A server that takes it keeps the head it had, and says that all is well. */
  lacks?: 'head'
  /** Of a Hugging Face directory. */
  transformer?: ToyTransformer
}

export function writeToyCheckpoint(
  version: PolicyVersion,
  { directory = temporary(), lacks }: { directory?: string; lacks?: 'head' } = {},
): string {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'toy.json'), JSON.stringify({ version, lacks }))
  return directory
}

export function writeToyAdapter(version: PolicyVersion): string {
  const directory = temporary()
  writeFileSync(join(directory, 'adapter_config.json'), JSON.stringify({ peft_type: 'LORA', r: 8 }))
  return writeToyCheckpoint(version, { directory })
}

/** Undefined where there is none. */
export function readToyCheckpoint(directory: string): ToyCheckpoint | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, 'toy.json'), 'utf8')) as ToyCheckpoint
  } catch {
    const transformer = ToyTransformer.read(directory)
    if (transformer) return { version: 0, transformer }
    return readAdapter(directory) ? { version: 0 } : undefined
  }
}

/** The weights after a server has read a checkpoint over those it had. */
export function loaded({ version, lacks, transformer }: ToyCheckpoint, before: ServedWeights): ServedWeights {
  if (transformer) return transformer
  return { ...toyWeights(version), ...(lacks === 'head' && 'head' in before ? { head: before.head } : {}) }
}

const temporary = (): string => mkdtempSync(join(tmpdir(), 'whetstone-toy-'))
