/**
 * Answers in memory at once. A thousand that come together are read a few after another; the others wait in the network, where
 * they cost nothing. Without this the memory grows with what is in flight, and the garbage collector with it.
 */

const mostAtOnce = 48
/** A server that stops in the middle of an answer holds nobody up for longer. */
const longestWaitMs = 500

export interface ReadingSlot {
  /** Not yet: `begin` is called when it may be read. */
  readonly waits: boolean
  /** It has been read and used, or never will be. */
  release(): void
}

type Begin = () => void

let taken = 0
const waiting = new Set<Begin>()

export function readingSlot(begin: Begin): ReadingSlot {
  let isOver = false
  const waits = taken >= mostAtOnce
  let hasSlot = !waits
  const go = (): void => {
    clearTimeout(timer)
    waiting.delete(go)
    if (isOver || hasSlot) return
    hasSlot = true
    taken++
    begin()
  }
  const timer = waits ? setTimeout(go, longestWaitMs) : undefined
  if (waits) waiting.add(go)
  else taken++
  return {
    waits,
    release: () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      waiting.delete(go)
      if (!hasSlot) return
      taken--
      for (const next of waiting) {
        if (taken >= mostAtOnce) break
        next()
      }
    },
  }
}
