/** Inputs and results of a stage: `stage.json` in its directory; a later call uses it to skip a finished stage. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { systemProblem, WhetstoneError } from '../errors/index.js'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import { configChanges, type Json } from '../run/index.js'

const inputsSchema = z.object({
  /** Options that affect the trained weights, without files: their contents count, not their names. */
  config: z.unknown(),
  /** SHA-256 of the data files, in the order of the config. */
  data: z.array(z.string()),
  /** SHA-256 of the models it begins with, by what they are for. */
  models: z.record(z.string(), z.string()),
  /** SHA-256 of the sources of functions that take the place of parts of the training, by their names; of rewards too. */
  functions: z.record(z.string(), z.string()),
})
export type StageInputs = z.output<typeof inputsSchema>

const recordSchema = z.object({
  version: z.literal(1),
  status: z.enum(['started', 'finished']),
  inputs: inputsSchema,
  /** Where finished: SHA-256 of the model, and what the training came to. */
  model: z.string().optional(),
  step: z.int().min(0).optional(),
  metrics: z.record(z.string(), z.number()).optional(),
  best: z.object({ step: z.int(), metric: z.string(), value: z.number() }).optional(),
})
export type StageRecord = z.output<typeof recordSchema>

const fileName = 'stage.json'

/** Undefined where there is none. */
export async function readStageRecord(directory: string): Promise<StageRecord | undefined> {
  const path = join(directory, fileName)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new WhetstoneError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  if (text === undefined) return undefined
  try {
    return recordSchema.parse(JSON.parse(text))
  } catch (cause) {
    throw new WhetstoneError(`${path} is damaged: cannot verify the inputs of this stage`, {
      cause,
      remedy: 'Move its directory away and run the stage again.',
    })
  }
}

export async function writeStageRecord(directory: string, record: StageRecord): Promise<void> {
  await makeDirectory(directory)
  await writeFileAtomic(join(directory, fileName), `${JSON.stringify(record, undefined, 2)}\n`)
}

/** One input that differs, by its dotted path: `data`, `models.model`, `config.optimizer.lr`. */
export interface InputChange {
  readonly path: string
  readonly from: unknown
  readonly to: unknown
}

export function changedInputs(before: Partial<StageInputs>, now: Partial<StageInputs>): InputChange[] {
  return configChanges(before as Json, now as Json).map(({ key, from, to }) => ({ path: key, from, to }))
}
