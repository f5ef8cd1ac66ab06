/** A model directory that cannot be used as it is: the message says what is wrong with which file, and what to do. */
export class ModelError extends Error {
  override name = 'ModelError'
}

/** A number that is not finite, found before any weight changed. */
export class NonFiniteError extends Error {
  override name = 'NonFiniteError'
  constructor(
    what: string,
    /** Which sequence of the call it belongs to. */
    readonly sequence: number,
    options: ErrorOptions & { call?: number } = {},
  ) {
    const { call, ...rest } = options
    const which = call ? ` of call ${call} since the last step` : ''
    super(`${what} of sequence ${sequence}${which} is not finite; the weights were not changed`, rest)
  }
}
