import { type ErrorCode, InputError } from '../errors/index.js'

/** An environment, its tools or its chat template cannot be used. Thrown before the first token. */
export class EnvironmentError extends InputError {
  static override readonly code: ErrorCode = 'WHETSTONE_ENVIRONMENT'
  override readonly name = 'EnvironmentError'
}
