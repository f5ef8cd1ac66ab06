import { type ErrorCode, WhetstoneError } from '../errors/index.js'
import { ModelError, NonFiniteError } from '../model/index.js'
import { CollectiveError, NonFiniteGradientError, OutOfMemoryError } from '../tensor/index.js'

/** Ranks cannot go on together: one is gone, does not answer, or is of another build. */
export class RankError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_RANKS'
  override name = 'RankError'
}

/** A connection to a rank has ended. Why, its watch knows better: see `Watch`. */
export class LostConnectionError extends RankError {}

/** Whether an error may come of a rank that is gone or late, and does not say which. */
export const isSymptom = (error: unknown): boolean =>
  error instanceof LostConnectionError || error instanceof CollectiveError

/** An error on its way to another rank. */
export interface WireError {
  readonly name: string
  readonly message: string
  /** Of a `NonFiniteError`: which sequence of the call. */
  readonly sequence?: number
  readonly call?: number | undefined
  /** Of a `NonFiniteGradientError`. */
  readonly parameters?: readonly string[]
}

export function errorToWire(thrown: unknown): WireError {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown) }
  const { name, message } = thrown
  if (thrown instanceof NonFiniteError) return { name, message, sequence: thrown.sequence, call: thrown.call }
  if (thrown instanceof NonFiniteGradientError) return { name, message, parameters: thrown.parameters }
  return { name, message }
}

/** The error as its own kind, so that a caller handles it like one of this process; others say which rank they come from. */
export function errorFromWire({ name, message, sequence, call, parameters }: WireError, rank: string): Error {
  switch (name) {
    case 'NonFiniteError':
      return new NonFiniteError(message.startsWith('the gradient') ? 'the gradient' : 'the output', sequence ?? 0, {
        call,
      })
    case 'NonFiniteGradientError':
      return new NonFiniteGradientError(parameters ?? [])
    case 'RangeError':
      return new RangeError(message)
    case 'AbortError':
      return new DOMException(message, 'AbortError')
    case 'ModelError':
      return new ModelError(message)
    case 'OutOfMemoryError':
      return new OutOfMemoryError(`${rank}: ${message}`)
    case 'CollectiveError':
      return new CollectiveError(`${rank}: ${message}`)
    default:
      return new RankError(`${rank}: ${message}`)
  }
}
