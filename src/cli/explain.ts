import { WhetstoneError } from '../errors/index.js'
import { SetupError } from '../setup/errors.js'

/** Errors written for people are shown as they are; any other is a defect, and its stack is what helps. */
export function explain(error: unknown): string {
  if (error instanceof SetupError) return `${error.message}\n${error.remedy}`
  if (!(error instanceof Error)) return String(error)
  // By name: the tensor room is loaded only for the verbs that compute, and an operator's other errors are defects.
  if (error instanceof WhetstoneError || error.name === 'OutOfMemoryError') return error.message
  return error.stack ?? error.message
}
