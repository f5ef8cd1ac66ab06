import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A model or a data set of the Hub cannot be had, or cannot be put there. */
export class HubError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_HUB'
  override name = 'HubError'
}

/** The Hub did not answer. What is in the cache may do instead. */
export class UnreachableError extends HubError {
  override name = 'UnreachableError'
}
