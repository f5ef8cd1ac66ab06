import { SetupError } from '../setup/errors.js'

/** Errors written for people are shown as they are; any other is a defect, and its stack is what helps. */
export function explain(error: unknown): string {
  if (error instanceof SetupError) return `${error.message}\n${error.remedy}`
  if (!(error instanceof Error)) return String(error)
  // By name: the tensor room is not loaded for verbs that do not compute.
  if (error.name === 'BridgeMissingError')
    return `${error.message}\nThe bridge to libtorch is not built: run \`npx whetstone setup\`.`
  return error.stack ?? error.message
}
