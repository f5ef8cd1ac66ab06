/** How often each kind of thing has happened, told to views: the first time at once, then every two seconds while more happens. */
import type { LiveEvent } from '../api.js'

const counts: Record<LiveEvent['kind'], number> = { runs: 0, run: 0, metrics: 0, samples: 0, acts: 0 }
const watchers = new Set<() => void>()

/** What happens together is told once. */
const togetherMs = 50
/** Asking and drawing take processor time, which a training on the same machine may need. */
const restMs = 2000

let timer: ReturnType<typeof setTimeout> | undefined
let [toldAt, dueAt] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]

/** Changes when one of these kinds has happened. */
const liveVersion = (kinds: readonly LiveEvent['kind'][]): number => kinds.reduce((sum, kind) => sum + counts[kind], 0)

function watchLive(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/**
 * Asks now, and again when one of these kinds has happened: one question at a time, and what happens meanwhile is asked for after it.
 * Gives what stops it.
 */
export function askOn(kinds: readonly LiveEvent['kind'][], ask: () => Promise<void>): () => void {
  let isBusy = false
  let isDue = false
  let isStopped = false
  const turn = async (): Promise<void> => {
    isDue = true
    if (isBusy) return
    isBusy = true
    while (isDue && !isStopped) {
      isDue = false
      await ask()
    }
    isBusy = false
  }
  void turn()
  let known = liveVersion(kinds)
  const stop = watchLive(() => {
    const now = liveVersion(kinds)
    if (now !== known) void turn()
    known = now
  })
  return () => {
    isStopped = true
    stop()
  }
}

/** The server told of it. */
export function happened(kind: LiveEvent['kind']): void {
  counts[kind]++
  tellAt(Math.max(performance.now() + togetherMs, toldAt + restMs))
}

/** The page itself changed something, such as a flag: views show it without a rest. */
export function changed(kind: LiveEvent['kind']): void {
  counts[kind]++
  tellAt(performance.now() + togetherMs)
}

function tellAt(due: number): void {
  if (dueAt <= due) return
  clearTimeout(timer)
  dueAt = due
  timer = setTimeout(() => {
    toldAt = performance.now()
    dueAt = Number.POSITIVE_INFINITY
    for (const watcher of [...watchers]) watcher()
  }, due - performance.now())
}

export function everythingHappened(): void {
  for (const kind of Object.keys(counts) as LiveEvent['kind'][]) happened(kind)
}
