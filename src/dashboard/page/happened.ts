/** How often each kind of thing has happened, told to views at most once in half a second. */
import type { LiveEvent } from '../api.js'

const counts: Record<LiveEvent['kind'], number> = { runs: 0, run: 0, metrics: 0, samples: 0, acts: 0 }
const watchers = new Set<() => void>()
let isTelling = false

const restMs = 500

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

/** The page itself changed something, such as a flag. */
export function happened(kind: LiveEvent['kind']): void {
  counts[kind]++
  if (isTelling) return
  isTelling = true
  setTimeout(() => {
    isTelling = false
    for (const watcher of [...watchers]) watcher()
  }, restMs)
}

export function everythingHappened(): void {
  for (const kind of Object.keys(counts) as LiveEvent['kind'][]) happened(kind)
}
