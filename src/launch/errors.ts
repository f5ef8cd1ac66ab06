import { WhetstoneError } from '../errors/index.js'

/** A server that could not be started. The message has its last lines of output. */
export class LaunchError extends WhetstoneError {
  override readonly name = 'LaunchError'
}
