import { WhetstoneError } from '../errors/index.js'

/** Errors written for people are shown as they are; any other is a defect, and its stack is what helps. */
export function explain(error: unknown): string {
  if (error instanceof WhetstoneError) return error.remedy ? `${error.message}\n${error.remedy}` : error.message
  if (!(error instanceof Error)) return String(error)
  // By name: the tensor room is loaded only for the verbs that compute, and an operator's other errors are defects.
  if (error.name === 'OutOfMemoryError') return error.message
  return error.stack ?? error.message
}
