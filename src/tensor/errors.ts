import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** An operator refused its arguments, or failed. The message names the operator, its arguments, shapes and dtypes. */
export class TensorError extends Error {
  override name = 'TensorError'
  /** Where the failing operator was recorded, when it ran inside a program: `file:line:column`. */
  readonly recordedAt: string | undefined

  constructor(message: string, options: { cause?: unknown; recordedAt?: string | undefined } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.recordedAt = options.recordedAt
  }
}

/** A caller's mistake: a value of the wrong type, a disposed tensor, a missing argument. */
export class ArgumentError extends TensorError {
  override name = 'ArgumentError'
}

/** The device or the machine has no memory left for what was asked. Nothing was computed. */
export class OutOfMemoryError extends TensorError {
  override name = 'OutOfMemoryError'
}

/** A device that this machine does not have. */
export class DeviceError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_DEVICE'
  override name = 'DeviceError'
}

/** Processes that train together are no longer in step: one of them is gone, late, or made another call. */
export class CollectiveError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_RANKS'
  override name = 'CollectiveError'
}

/** The native bridge is not built, or does not load. */
export class BridgeMissingError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_BRIDGE'
  override name = 'BridgeMissingError'
}

interface NativeError extends Error {
  code?: string
  where?: string
}

/** Turns what the bridge threw into one of the errors above. */
export function fromNative(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new TensorError(String(thrown))
  const { code, where } = thrown as NativeError
  const recordedAt = where ? originalPosition(where) : undefined
  const message = recordedAt ? `${thrown.message}\n  recorded at ${recordedAt}` : thrown.message
  if (code === 'ERR_ARGUMENT') return new ArgumentError(message, { recordedAt })
  if (code === 'ERR_MEMORY') return new OutOfMemoryError(message, { recordedAt })
  if (code === 'ERR_OPERATOR') return new TensorError(message, { recordedAt })
  return thrown
}

/** The TypeScript position behind a compiled one, where a source map lies beside the file; read only when an error needs it. */
function originalPosition(where: string): string {
  const match = /^(.*):(\d+):(\d+)$/.exec(where)
  if (!match) return where
  const [, file, line, column] = match as unknown as [string, string, string, string]
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload)
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
    if ('originalSource' in entry) {
      const source = new URL(entry.originalSource, `file://${path}`)
      return `${fileURLToPath(source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    }
  } catch {
    // No map: the position as it ran is still the right line of the file that ran.
  }
  return `${path}:${line}:${column}`
}
