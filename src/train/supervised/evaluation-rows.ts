import type { ExampleSet } from '../../data/index.js'
import { TrainingError } from '../run/errors.js'

/** Rows that are evaluated in one call of a model, which splits them further by its memory. */
const rowsOfPart = 256

/** The rows of a validation set in parts; a set without usable rows is an error. */
export async function* evaluationRows<E>(validation: ExampleSet<E>): AsyncGenerator<readonly E[], void> {
  let any = false
  for await (const part of validation.parts(rowsOfPart)) {
    if (part.length === 0) continue
    any = true
    yield part
  }
  if (!any)
    throw new TrainingError(`none of the ${validation.size} validation rows can be used: all are longer than maxLength`)
}
