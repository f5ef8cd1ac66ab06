/** Errors on their way between processes. */
import { basename } from 'node:path'
import { SourceError } from '../errors.js'
import type { FailureReason } from '../outcome.js'
import type { SentError } from './messages.js'

export function sentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: `threw ${shown(error)}`, stack: undefined }
  const { name, message, stack } = error
  if (!(error instanceof SourceError)) return { name, message, stack }
  const { reason, repeat, retryAfterMs } = error
  return { name, message, stack, reason, repeat, retryAfterMs }
}

/** The error again, with the place in the file that it came from. */
export function receivedError(sent: SentError, file: string): Error {
  const { name, message, stack, reason, repeat = 'final', retryAfterMs } = sent
  const error =
    reason === undefined
      ? new Error(`${message}${placeIn(stack, file)}`)
      : new SourceError(reason as FailureReason, message, { repeat, retryAfterMs })
  error.name = name
  if (stack !== undefined) error.stack = stack
  return error
}

/** ` (reward.ts:3)`: the innermost line of the stack that is the file's own. */
function placeIn(stack: string | undefined, file: string): string {
  const line = stack?.split('\n').find(text => text.includes(file))
  const place = line?.slice(line.indexOf(file) + file.length).match(/^:\d+/)?.[0]
  return place === undefined ? '' : ` (${basename(file)}${place})`
}

function shown(value: unknown): string {
  try {
    return String(value)
  } catch {
    return typeof value
  }
}
