import { type ErrorCode, WhetstoneError } from '../../errors/index.js'
import { NonFiniteError } from '../../model/index.js'
import type { Sequence } from '../../sequence/index.js'

/** The training cannot continue; the weights are those of the last step. */
export class TrainingError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_TRAINING'
  override name = 'TrainingError'
}

/** A row of a dataset or a sample, as errors name it. */
export interface TrainingRow {
  /** File and line. */
  readonly where: string
  readonly sequence: Pick<Sequence, 'promptId'>
}

/**
 * Runs work of a model and names the row of a non-finite result; `rows` has one entry per sequence. Losses report an overflow as
 * a `RangeError` that names the sample; it becomes an error for people too.
 */
export async function namingRows<T>(rows: readonly TrainingRow[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NonFiniteError) {
      const row = rows[error.sequence]
      const what = error.message.split(' of sequence ')[0]
      if (row)
        throw new TrainingError(`${row.where}: ${what} of this row is not finite; the weights were not changed`, {
          cause: error,
          remedy: `a lower learning rate or a smaller maxGradNorm may help; row ${row.sequence.promptId} may be at fault itself`,
        })
    }
    if (error instanceof RangeError)
      throw new TrainingError(`${error.message}; the weights were not changed`, { cause: error })
    throw error
  }
}
