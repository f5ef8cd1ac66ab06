import type { ErrorCode } from './codes.js'
import { type Problem, problemOf } from './problem.js'

export interface WhetstoneErrorOptions extends ErrorOptions {
  /** What to do, if the message does not say it. */
  readonly remedy?: string
  /** Default: that of the class. */
  readonly code?: ErrorCode
  readonly problems?: readonly Problem[]
}

/**
 * An error whose message is complete for a user: what is wrong and what to do. The command line prints only the message; any
 * other error is a bug and is printed with its stack.
 *
 * Each room has its own subclasses (an unusable model directory, a damaged tokenizer file, a failed setup step).
 */
export class WhetstoneError extends Error {
  /** The code of a class. */
  static readonly code: ErrorCode = 'WHETSTONE_ERROR'
  override name = 'WhetstoneError'
  /** Stable: messages may change, codes do not. docs/errors.md lists them. */
  readonly code: ErrorCode
  /** What to do, if the message does not say it. */
  readonly remedy: string | undefined
  /** What is wrong, one by one, where options of a config or rows of data are. Empty elsewhere. */
  readonly problems: readonly Problem[]

  constructor(message: string, options: WhetstoneErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.remedy = options.remedy
    const cause = options.cause instanceof WhetstoneError ? options.cause : undefined
    const own = new.target.code
    // An error that only adds where something is wrong keeps what is wrong.
    const isGeneral = own === 'WHETSTONE_ERROR' || own === 'WHETSTONE_INPUT'
    this.code = options.code ?? (isGeneral ? cause?.code : undefined) ?? own
    this.problems = options.problems ?? cause?.problems ?? []
  }
}

/**
 * Rethrows an error for people with the name of the option that caused it: the room knows the file or the device, its caller the
 * option. Other errors are rethrown unchanged.
 */
export function refuse(option: string, error: unknown): never {
  if (!(error instanceof WhetstoneError)) throw error
  const { message, remedy } = error
  const problems = error.problems.length > 0 ? error.problems : [problemOf(`${option}: ${message}`)]
  const given = remedy === undefined ? {} : { remedy }
  throw new InputError(`${option}: ${message}`, { cause: error, problems, ...given })
}

/** Runs work whose errors for people are named after an option, as {@link refuse} does. */
export function naming<T>(option: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    refuse(option, error)
  }
}

/** An input of the user (a file, a line, a directory) cannot be used. The message names it. */
export class InputError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_INPUT'
  override name = 'InputError'
}

/** Options of a config that are wrong: all of them in one error, a line each. */
export class ConfigError extends InputError {
  static override readonly code: ErrorCode = 'WHETSTONE_CONFIG'
  override name = 'ConfigError'

  /** The message of each problem, with the file or flag that gave the option before it. */
  constructor(problems: readonly Problem[], options: WhetstoneErrorOptions = {}) {
    const lines = problems.map(({ file, message }) => (file === undefined ? message : `${file}: ${message}`))
    super(lines.join('\n'), { problems, ...options })
  }
}
