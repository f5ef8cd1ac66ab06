/**
 * Datasets: files in, checked rows out.
 *
 * @example
 * import { readPrompts } from 'whetstone/data'
 * const { prompts, description } = await readPrompts('prompts.jsonl')
 */
export { DataError } from './errors.js'
export { type PromptColumns, type PromptFile, type PromptFileOptions, type PromptRow, readPrompts } from './prompts.js'
export type { DataRow, ReadOptions } from './read-rows.js'
export type { Column, RowSchema } from './row-schema.js'
export { readSamples, type SavedSample } from './samples.js'
