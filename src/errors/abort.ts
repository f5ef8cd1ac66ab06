/** Signals that end work before it is done. */

const callbacks = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back when a signal aborts; returns how to stop that. However many wait on a signal, it gets one listener: Node warns of
 * a leak at eleven, and a batch of thousands of samples shares one signal.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let waiting = callbacks.get(signal)
  if (!waiting) {
    const set = new Set<() => void>()
    waiting = set
    callbacks.set(signal, set)
    const notify = () => {
      for (const one of [...set]) one()
    }
    signal.addEventListener('abort', notify, { once: true })
  }
  waiting.add(callback)
  return () => waiting.delete(callback)
}

/**
 * A controller that several signals abort too, for work that ends before they do: `unlink` when it is over. `AbortSignal.any` would
 * keep a signal that has listeners as long as its sources live, and a run's own signal lives as long as the run.
 */
export function linkedController(signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
  unlink(): void
} {
  const controller = new AbortController()
  const unlinks: (() => void)[] = []
  for (const signal of signals) {
    if (signal?.aborted) controller.abort(signal.reason)
    else if (signal) unlinks.push(onAbort(signal, () => controller.abort(signal.reason)))
  }
  return {
    signal: controller.signal,
    abort: reason => controller.abort(reason),
    unlink: () => {
      for (const unlink of unlinks) unlink()
    },
  }
}
