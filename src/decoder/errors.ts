import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A model directory that cannot be used as it is: the message says what is wrong with which file, and what to do. */
export class ModelError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_MODEL'
  override name = 'ModelError'
}
