import { type ErrorCode, WhetstoneError } from '../../errors/index.js'
import type { Refusal } from './dialect.js'

/** A server that cannot be used, or that refused an operation. The message has the server's URL and its own words. */
export class EngineError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_ENGINE'
  override readonly name: string = 'EngineError'
}

/** No engine generates any more. */
export class EngineLostError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_ENGINE_LOST'
  override readonly name = 'EngineLostError'
}

/** An answer that breaks the protocol. */
export class ProtocolError extends EngineError {
  override readonly name = 'ProtocolError'
}

/** No answer. `unreachable`: no connection, or a broken one. `timeout`: not within the deadline. `cancelled`: by this client. */
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

/** A refusal in place of an answer, also as an event of a stream whose status was 200. */
export class RefusalError extends EngineError {
  override readonly name = 'RefusalError'

  constructor(
    readonly refusal: Refusal,
    readonly status = 200,
  ) {
    super(refusal.message)
  }
}

const longestWords = 600

/** The error message in a server's answer: vLLM, SGLang and proxies write it in different fields. */
export function serverWords(text: string): string {
  return found(text).trim().replace(/\s+/g, ' ').slice(0, longestWords)
}

function found(text: string): string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return text
  }
  if (typeof body === 'string') return body
  if (typeof body !== 'object' || body === null) return text
  const { error, message, detail, error_message: failure } = body as Record<string, unknown>
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && typeof (error as { message?: unknown }).message === 'string')
    return (error as { message: string }).message
  for (const words of [message, failure, detail]) if (typeof words === 'string' && words !== '') return words
  return text
}
