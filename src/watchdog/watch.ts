/** What the native part has. The record is `native/watchdog.cc`'s. */
export interface WatchdogNative {
  /** Starts the thread. Undefined where another thread of this process has the record. */
  watchdog(): ArrayBuffer | undefined
  watchdogName(name: string): number
  /** Processor time that this thread has used, in milliseconds. */
  threadCpuMs?(): number
}

const beat = 0
const entered = { name: 1, limit: 2 }
const waiting = { name: 3, limit: 4 }
/** How often we say that we are alive, while calls wait. */
const beatMs = 200

let loadNative: (() => Partial<WatchdogNative>) | undefined
let native: Partial<WatchdogNative> | undefined
let record: Float64Array | undefined
const ids = new Map<string, number>()
/** Calls that wait, each under its watch. */
const calls: Watch[] = []
let timer: NodeJS.Timeout | undefined

/** Called by the room that has the native part. It is loaded with the first watch. */
export function provideWatchdog(load: () => Partial<WatchdogNative>): void {
  loadNative = load
}

/** Of Node from 23.9 on. */
const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }

/** Without the bridge and on an older Node: the time of all threads, which is at least as much. */
function threadTime(): number {
  const { user, system } = threadCpuUsage ? threadCpuUsage.call(process) : process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Starts measuring the processor time of this thread: what it returns gives the milliseconds used since. On a busy machine a
 * function takes long without using any, and is not to blame.
 */
export function cpuTimer(): () => number {
  const now = native?.threadCpuMs ?? threadTime
  const [began, used] = [performance.now(), now()]
  return () => Math.min(performance.now() - began, now() - used)
}

/** Watches the calls of one function. To enter and to leave are writes to memory. */
export class Watch {
  constructor(
    /** As a message names it: `reward "mine"`, `tool search`. */
    readonly name: string,
    /** Milliseconds it may hold the process; Infinity for no limit. */
    readonly limitMs: number,
    /** The same for the rest of a call that waits: other work of the process may be what holds it then. */
    readonly waitingLimitMs = limitMs,
  ) {
    // What the native part takes to load is not the time of the first call.
    recordOf()
  }

  /**
   * Runs the part of a call that does not wait, and watches over the rest until `release` is called. A call that was given up is
   * released too: it may never settle, and must not be blamed for what holds the process later.
   */
  call<T>(work: () => Promise<T>): { readonly answer: Promise<T>; release(): void } {
    const shared = recordOf()
    if (!shared) return { answer: work(), release() {} }
    const [name, limit] = [shared[entered.name]!, shared[entered.limit]!]
    shared[beat]!++
    shared[entered.limit] = this.limitMs
    shared[entered.name] = idOf(this.name)
    try {
      return { answer: work(), release: this.wait(shared) }
    } finally {
      shared[entered.name] = name
      shared[entered.limit] = limit
      shared[beat]!++
    }
  }

  private wait(shared: Float64Array): () => void {
    calls.push(this)
    if (calls.length === 1) showWaiting(shared)
    let released = false
    return () => {
      if (released) return
      released = true
      calls.splice(calls.indexOf(this), 1)
      if (calls.length === 0) showWaiting(shared)
    }
  }
}

/** The thread is started with the first watch. */
function recordOf(): Float64Array | undefined {
  if (record || !loadNative) return record
  try {
    native = loadNative()
    // A bridge of an earlier version has no watchdog, until it is built again.
    const memory = native.watchdogName ? native.watchdog?.() : undefined
    record = memory && new Float64Array(memory)
  } catch {
    // A bridge that does not load is an error of what computes with it; functions run without a watch.
    native = undefined
  }
  loadNative = undefined
  // Whatever ends the process from here on is none of these functions.
  process.once('exit', () => {
    clearInterval(timer)
    record?.fill(0, entered.name)
  })
  return record
}

function idOf(name: string): number {
  let id = ids.get(name)
  if (id === undefined) {
    id = native!.watchdogName!(name)
    ids.set(name, id)
  }
  return id
}

/** With calls that wait, something must beat: code of theirs that goes on later may hold the process as well. */
function showWaiting(shared: Float64Array): void {
  if (calls.length === 0) {
    clearInterval(timer)
    timer = undefined
    shared[waiting.name] = 0
    return
  }
  const show = (): void => {
    const names = [...new Set(calls.map(({ name }) => name))]
    shared[beat]!++
    shared[waiting.limit] = Math.min(...calls.map(({ waitingLimitMs }) => waitingLimitMs))
    shared[waiting.name] = idOf(names.slice(0, 3).join(' or '))
  }
  show()
  timer = setInterval(show, beatMs).unref()
}
