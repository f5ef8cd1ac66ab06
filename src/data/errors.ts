import { type ErrorCode, InputError } from '../errors/index.js'

/** Rows of a dataset that cannot be used. The message names file, line and field, what was expected, and what to do. */
export class DataError extends InputError {
  static override readonly code: ErrorCode = 'WHETSTONE_DATA'
  override name = 'DataError'
}
