/**
 * Runs work that Ctrl-C (or a polite kill) stops cleanly: it is told through its signal and cleans up. Answers with the exit
 * code, 0 or that of the interruption.
 */
export async function interruptible(options: {
  work: (signal: AbortSignal) => Promise<unknown>
  onInterrupt: () => void
}): Promise<number> {
  const stop = new AbortController()
  let interrupted: number | undefined
  const handlers = Object.entries({ SIGINT: 130, SIGTERM: 143 }).map(([name, code]) => {
    const handler = () => {
      interrupted = code
      stop.abort(new Error('interrupted'))
    }
    // Once: a second Ctrl-C ends the process even if cleaning up hangs.
    process.once(name, handler)
    return { name, handler }
  })
  try {
    await options.work(stop.signal)
    return 0
  } catch (error) {
    if (interrupted === undefined) throw error
    options.onInterrupt()
    return interrupted
  } finally {
    for (const { name, handler } of handlers) process.off(name, handler)
  }
}
