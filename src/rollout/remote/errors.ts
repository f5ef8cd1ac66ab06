import { WhetstoneError } from '../../errors/index.js'
import type { Refusal } from './dialect.js'

/** A server that cannot be used, or did not do what it was told. Says which, and repeats its words. */
export class EngineError extends WhetstoneError {
  override readonly name: string = 'EngineError'
}

/** An answer that is not what was agreed on. */
export class ProtocolError extends EngineError {
  override readonly name = 'ProtocolError'
}

/**
 * No answer. `unreachable`: no connection, or one that broke. `timeout`: not within the deadline. `cancelled`: we no longer
 * wanted one.
 */
export class TransportError extends EngineError {
  override readonly name = 'TransportError'

  constructor(
    readonly kind: 'unreachable' | 'timeout' | 'cancelled',
    message: string,
    options: ErrorOptions & { remedy?: string } = {},
  ) {
    super(message, options)
  }
}

/** A refusal that came where an answer was expected: as an event of a stream whose status was a success. */
export class RefusalError extends EngineError {
  override readonly name = 'RefusalError'

  constructor(readonly refusal: Refusal) {
    super(refusal.message)
  }
}
