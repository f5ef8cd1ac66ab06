/**
 * An error whose message is complete for a user: what is wrong and what to do. The command line prints only the message; any
 * other error is a bug and is printed with its stack.
 *
 * Each room has its own subclasses (an unusable model directory, a damaged tokenizer file, a failed setup step).
 */
export class WhetstoneError extends Error {
  override name = 'WhetstoneError'
  /** What to do, if the message does not say it. */
  readonly remedy: string | undefined

  constructor(message: string, options: ErrorOptions & { remedy?: string } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.remedy = options.remedy
  }
}

/**
 * Rethrows an error for people with the name of the option that caused it: the room knows the file or the device, its caller the
 * option. Other errors are rethrown unchanged.
 */
export function refuse(option: string, error: unknown): never {
  if (!(error instanceof WhetstoneError)) throw error
  const { message, remedy } = error
  throw new InputError(`${option}: ${message}`, { cause: error, ...(remedy === undefined ? {} : { remedy }) })
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
  override name = 'InputError'
}
