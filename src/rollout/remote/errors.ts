import { WhetstoneError } from '../../errors/index.js'

/** A server that cannot be used, or did not do what it was told. Says which, and repeats its words. */
export class EngineError extends WhetstoneError {
  override readonly name: string = 'EngineError'
}

/** An answer that is not what was agreed on. */
export class ProtocolError extends EngineError {
  override readonly name = 'ProtocolError'
}
