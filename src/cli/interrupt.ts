import type { Report } from '../progress/index.js'

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Runs work that Ctrl-C, SIGTERM or a closed terminal stops cleanly: its signal aborts, and it cleans up. Returns the exit code
 * of the work (default 0), or of the interruption.
 */
export async function interruptible(options: {
  // biome-ignore lint/suspicious/noConfusingVoidType: work that gives no exit code is done
  work: (signal: AbortSignal) => Promise<number | void>
  onInterrupt: () => void
}): Promise<number> {
  const stop = new AbortController()
  let interrupted: number | undefined
  const handlers = Object.entries(codes).map(([name, code]) => {
    const handler = () => {
      interrupted = code
      // Writing to a closed terminal fails; that must not prevent the clean-up.
      if (name === 'SIGHUP') for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
      stop.abort(new Error('interrupted'))
    }
    // Once: a second Ctrl-C ends the process even if cleaning up hangs.
    process.once(name, handler)
    return { name, handler }
  })
  try {
    return (await options.work(stop.signal)) ?? 0
  } catch (error) {
    if (interrupted === undefined) throw error
    options.onInterrupt()
    return interrupted
  } finally {
    for (const { name, handler } of handlers) process.off(name, handler)
  }
}

/** For people, where a download was interrupted. */
export const fetchedIsKept = 'Interrupted. What was fetched is kept: the same command goes on from there.'

/**
 * Opens what a command works with: fetches and loads a model. Returns the exit code instead if that was interrupted; later signals are the
 * command's own.
 */
export async function interruptibleStart<T extends { close(): Promise<unknown> }>(
  report: Pick<Report, 'line'>,
  open: (signal: AbortSignal) => Promise<T>,
): Promise<T | number> {
  let opened: T | undefined
  const code = await interruptible({
    work: async signal => {
      opened = await open(signal)
      if (!signal.aborted) return
      await opened.close()
      signal.throwIfAborted()
    },
    onInterrupt: () => report.line(fetchedIsKept),
  })
  return code === 0 ? opened! : code
}

/**
 * Work that may be abandoned while `abandonable` returns true: checks without side effects, such as loading a module that never
 * ends. An interruption does not wait for them.
 */
export function orInterrupted<T>(signal: AbortSignal, abandonable: () => boolean, work: Promise<T>): Promise<T> {
  const interrupted = new Promise<never>((_, reject) => {
    const leave = (): void => {
      if (abandonable()) reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
  // The race takes the first result; prevent an unhandled rejection of the other.
  interrupted.catch(() => {})
  work.catch(() => {})
  return Promise.race([work, interrupted])
}

/** Resolves at the first signal that asks the process to end. */
export function endSignal(): Promise<void> {
  return new Promise(resolve => {
    for (const name of Object.keys(codes)) process.once(name, () => resolve())
  })
}
