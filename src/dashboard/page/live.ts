/** Server-sent events: what changed in the run that is shown, and in the list. */
import type { LiveEvent } from '../api.js'
import { everythingHappened, happened } from './happened.js'

const retryMs = 3000

/**
 * Listens to one run, or to the list alone. `onState` hears whether the server is there. A browser has six connections to a server, for all
 * its tabs: a hidden tab gives back the one that events come by, so that a seventh tab opens too.
 */
export function listen(run: string | undefined, onState: (isOpen: boolean) => void): () => void {
  const path = run === undefined ? '/api/events' : `/api/events?run=${encodeURIComponent(run)}`
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wasLost = false
  const close = (): void => {
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  const open = (): void => {
    close()
    const opened = new EventSource(path)
    source = opened
    opened.onopen = () => {
      onState(true)
      // What happened while it was away is not told again.
      if (wasLost) everythingHappened()
      wasLost = false
    }
    opened.onerror = () => {
      wasLost = true
      onState(false)
      if (opened.readyState !== EventSource.CLOSED) return
      // A browser does not try again after a refusal. What views ask for now says why: a server that was started again has another token.
      everythingHappened()
      timer = setTimeout(open, retryMs)
    }
    opened.onmessage = ({ data }: MessageEvent<string>) => happened((JSON.parse(data) as LiveEvent).kind)
  }
  const onVisibility = (): void => {
    if (document.hidden) {
      wasLost = true
      close()
    } else open()
  }
  if (!document.hidden) open()
  document.addEventListener('visibilitychange', onVisibility)
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    close()
  }
}
