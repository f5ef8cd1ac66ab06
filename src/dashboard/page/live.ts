/** Server-sent events: how often each kind of thing has happened, told to views at most once in half a second. */
import type { LiveEvent } from '../api.js'

const counts: Record<LiveEvent['kind'], number> = { runs: 0, run: 0, metrics: 0, samples: 0, acts: 0 }
const watchers = new Set<() => void>()
let isTelling = false

const restMs = 500

/** Changes when one of these kinds has happened. */
export const liveVersion = (kinds: readonly LiveEvent['kind'][]): number =>
  kinds.reduce((sum, kind) => sum + counts[kind], 0)

export function watchLive(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Listens to one run, or to the list alone. `onState` hears whether the server is there. */
export function listen(run: string | undefined, onState: (isOpen: boolean) => void): () => void {
  const opened = new EventSource(run === undefined ? '/api/events' : `/api/events?run=${encodeURIComponent(run)}`)
  let wasLost = false
  opened.onopen = () => {
    onState(true)
    // What happened while it was away is not told again.
    if (wasLost) for (const kind of Object.keys(counts) as LiveEvent['kind'][]) happened(kind)
    wasLost = false
  }
  opened.onerror = () => {
    wasLost = true
    onState(false)
  }
  opened.onmessage = ({ data }: MessageEvent<string>) => happened((JSON.parse(data) as LiveEvent).kind)
  return () => opened.close()
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
