/** Prepares the first stage: rows, a tokenizer and a model with random weights. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../files/index.js'
import { initModel, newConfig } from '../model/index.js'
import { MIN_VOCAB_SIZE, Tokenizer, trainTokenizer } from '../text/index.js'
import type { DemoSettings } from './settings.js'
import { answerTo, demonstrations, makeTask, preferences, type Task, verifiable } from './task.js'

export interface PreparedDemo {
  readonly task: Task
  /** Rows that were written, by file. */
  readonly rows: Readonly<Record<DataFile, number>>
  readonly parameters: number
}

/** By what they are for; `-held-out` are never trained on. */
export const dataFiles = [
  'demonstrations',
  'demonstrations-held-out',
  'preferences',
  'preferences-held-out',
  'prompts',
  'prompts-held-out',
] as const
type DataFile = (typeof dataFiles)[number]

export const dataPath = (file: DataFile): string => join('data', `${file}.jsonl`)

/**
 * The demo's models are trained on bare prompts, one at a time: what the user said last is the prompt.
 */
const chatTemplate = `{{- (messages | selectattr('role', 'equalto', 'user') | list | last)['content'] }}`

export async function prepareDemo(
  directory: string,
  { settings, seed, signal }: { settings: DemoSettings; seed: number; signal: AbortSignal },
): Promise<PreparedDemo> {
  const task = makeTask(settings)
  const rows = rowsOf(task, seed)
  await makeDirectory(join(directory, 'data'))
  for (const file of dataFiles) await writeFile(join(directory, dataPath(file)), jsonLines(rows[file]))

  const tokenizerDirectory = join(directory, 'tokenizer')
  await trainTokenizer({
    files: [join(directory, dataPath('demonstrations'))],
    // The word "sort" takes three merges; digits are tokens of their own.
    vocabSize: MIN_VOCAB_SIZE + 3,
    out: tokenizerDirectory,
    signal,
  })
  await writeFile(join(tokenizerDirectory, 'chat_template.jinja'), chatTemplate)

  const tokenizer = await Tokenizer.load(tokenizerDirectory)
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const { parameters } = await initModel({
    config: newConfig('qwen2', { ...settings.shape, vocabSize: tokenizer.vocabSize }, tokens),
    seed,
    dtype: 'float32',
    tokenizer: tokenizerDirectory,
    tokens,
    out: join(directory, 'base'),
    signal,
  })
  const counts = Object.fromEntries(dataFiles.map(file => [file, rows[file].length]))
  return { task, rows: counts as PreparedDemo['rows'], parameters }
}

function rowsOf({ training, heldOut }: Task, seed: number): Record<DataFile, object[]> {
  return {
    demonstrations: demonstrations(training, seed),
    'demonstrations-held-out': heldOut.map(prompt => ({ prompt, completion: answerTo(prompt) })),
    preferences: preferences(training, seed),
    'preferences-held-out': preferences(heldOut, seed),
    prompts: verifiable(training),
    'prompts-held-out': verifiable(heldOut),
  }
}

const jsonLines = (rows: readonly object[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')
