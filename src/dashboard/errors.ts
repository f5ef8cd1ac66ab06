/** A request that is refused: a status and a sentence for people. */
export class RequestError extends Error {
  override readonly name = 'RequestError'

  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
