import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A GGUF file, or a model that shall become one, cannot be used: the message names the file and says what is wrong. */
export class GgufError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_GGUF'
  override name = 'GgufError'
}
