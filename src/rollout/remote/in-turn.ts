/**
 * Work that many wait for, a few milliseconds at a time: a thousand answers that come at once would else hold up timers and
 * everybody else's requests for a second, and fill the memory meanwhile.
 */

/** What is done before others have their turn. */
const sliceMs = 3
/** Answers are not read from the network while so many wait for their turn. */
const mostWaiting = 32

const queue: (() => void)[] = []
const readers: (() => void)[] = []
let first = 0
let isScheduled = false

export function inTurn<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    queue.push(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    })
    schedule()
  })
}

/** Undefined where there is room for more to read; else `read` is called when there is. */
export function whenRoom(read: () => void): 'later' | undefined {
  if (queue.length - first < mostWaiting) return undefined
  readers.push(read)
  return 'later'
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(drain)
}

function drain(): void {
  isScheduled = false
  for (const end = performance.now() + sliceMs; first < queue.length && performance.now() < end; ) queue[first++]!()
  if (first === queue.length) {
    queue.length = 0
    first = 0
  }
  for (let room = mostWaiting - (queue.length - first); room > 0 && readers.length > 0; room--) readers.shift()!()
  // Those that were let in may have nothing to be done: the others are not to wait for them.
  if (queue.length > 0 || readers.length > 0) schedule()
}
