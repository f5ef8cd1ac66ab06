import { type ErrorCode, WhetstoneError } from '../errors/index.js'

export { ModelError } from '../decoder/index.js'

/** A number that is not finite: of an output, or of a gradient, which is found before it changes any weight. */
export class NonFiniteError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_NON_FINITE'
  override name = 'NonFiniteError'
  /** Of several calls since the last step, which one: 1 is the first. */
  readonly call: number | undefined
  constructor(
    readonly what: 'the output' | 'the gradient',
    /** Which sequence of the call it belongs to. */
    readonly sequence: number,
    options: ErrorOptions & { call?: number | undefined } = {},
  ) {
    const { call, ...rest } = options
    const which = call ? ` of call ${call} since the last step` : ''
    const consequence = what === 'the gradient' ? '; the weights were not changed' : ''
    super(`${what} of sequence ${sequence}${which} is not finite${consequence}`, rest)
    this.call = call
  }
}
