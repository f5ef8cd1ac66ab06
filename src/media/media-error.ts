import { type ErrorCode, InputError, type WhetstoneErrorOptions } from '../errors/index.js'

/**
 * Why an image or a video cannot be used: it is not there (`missing`), may not be read (`refused`), is larger than a limit
 * (`limit`), has no pixels (`empty`), is too long and thin (`shape`), is of a format that is not read (`format`), is damaged
 * (`damaged`), was given in a form that means nothing (`form`), or needs a program that is not installed (`program`).
 */
export type MediaReason =
  | 'missing'
  | 'refused'
  | 'limit'
  | 'empty'
  | 'shape'
  | 'format'
  | 'damaged'
  | 'form'
  | 'program'

/** An image or a video that cannot be used. */
export class MediaError extends InputError {
  static override readonly code: ErrorCode = 'WHETSTONE_MEDIA'
  override name = 'MediaError'
  readonly reason: MediaReason

  constructor(reason: MediaReason, message: string, options: WhetstoneErrorOptions = {}) {
    super(message, options)
    this.reason = reason
  }

  /** The same error with the name of the image or the video before it. */
  of(source: string): MediaError {
    return new MediaError(this.reason, `${source}: ${this.message}`, { cause: this })
  }
}
