import { SetupError } from '../setup/errors.js'

/**
 * By name: rooms are loaded only for the verbs that use them. A missing bridge says to run setup; the others say what is
 * wrong with which file.
 */
const forPeople = new Set([
  'BridgeMissingError',
  'ChatTemplateError',
  'FileWriteError',
  'InputError',
  'ModelError',
  'NonFiniteError',
  'OutOfMemoryError',
  'SafetensorsError',
  'TokenizerError',
])

/** Errors written for people are shown as they are; any other is a defect, and its stack is what helps. */
export function explain(error: unknown): string {
  if (error instanceof SetupError) return `${error.message}\n${error.remedy}`
  if (!(error instanceof Error)) return String(error)
  if (forPeople.has(error.name)) return error.message
  return error.stack ?? error.message
}
