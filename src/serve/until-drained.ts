/** Waiting for a client to take what was sent. */
import type { ServerResponse } from 'node:http'

/**
 * Resolves when the client has taken what was written, or has gone. One that takes nothing for `stallMs` is let go: what
 * its answer holds is others' to use.
 */
export function untilDrained(
  response: ServerResponse,
  { signal, stallMs }: { signal: AbortSignal; stallMs: number },
): Promise<void> {
  if (signal.aborted || response.destroyed || !response.writableNeedDrain) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      response.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), stallMs)
    response.on('drain', done)
    signal.addEventListener('abort', done)
  })
}
