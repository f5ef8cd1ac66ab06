import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A server that could not be started. The message has its last lines of output. */
export class LaunchError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_LAUNCH'
  override readonly name = 'LaunchError'
}
