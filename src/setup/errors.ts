import { type ErrorCode, WhetstoneError } from '../errors/index.js'
import { errorCode } from '../http/index.js'

/**
 * Setup cannot continue; the message says what happened and what to do.
 *
 * @example throw new SetupError('No C++ compiler was found.', 'Install one, for example: sudo apt install g++')
 */
export class SetupError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_SETUP'
  override name = 'SetupError'

  constructor(message: string, remedy: string, options: ErrorOptions = {}) {
    super(message, { ...options, remedy })
  }
}

export function diskFull(where: string, cause?: unknown): SetupError {
  return new SetupError(
    `The disk is full: ${where} could not be written.`,
    'Free some space, or set WHETSTONE_CACHE to a directory on a disk with enough space, and run `npx whetstone setup`.',
    { cause },
  )
}

/** Gives the file-system errors that any step can meet their one message; everything else passes through as it is. */
export function attributeDiskError(error: unknown, where: string): unknown {
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(where, error)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new SetupError(
        `${where} cannot be written (${errorCode(error)}).`,
        'Make it writable for this user, or set WHETSTONE_CACHE to a writable directory, and run `npx whetstone setup`.',
        { cause: error },
      )
    default:
      return error
  }
}
