import { WhetstoneError } from '../errors/index.js'

export { ModelError } from '../decoder/index.js'

/** A number that is not finite, found before any weight changed. */
export class NonFiniteError extends WhetstoneError {
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
