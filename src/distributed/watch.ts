/**
 * Rank 0's watch over the other ranks. One that is gone, silent or stuck is found by its signs of life (`Pulse`); one that left the
 * order is found by the collectives that it has not begun. The error says which rank it was, where it ran, and what it said last.
 */
import { Pulse } from '../tensor/index.js'
import { RankError } from './errors.js'

/** So much of what a rank said is kept. */
const keptText = 4_000
const shownLines = 12
/** Whatever started a rank may know within this time how it ended. */
const reportMs = 400

interface WatchOptions {
  readonly host: string
  readonly token: string
  readonly size: number
  readonly limitMs: number
  /** With host, device and process. */
  readonly nameOf: (rank: number) => string
}

type How = 'closed' | 'silent' | 'stuck' | 'busy' | 'ended'

export class Watch {
  private readonly pulse: Pulse
  /** Ranks that are lost, in the order they were found. */
  private readonly found = new Map<number, { how: How; more: string }>()
  private readonly words = new Map<number, string>()
  private readonly listeners = new Set<(error: Error) => void>()
  private closed = false
  private readonly timer: NodeJS.Timeout

  constructor(private readonly options: WatchOptions) {
    const { host, token, limitMs } = options
    this.timer = setInterval(() => this.findBusy(), Math.max(20, limitMs / 10)).unref()
    this.pulse = Pulse.serve({
      ...{ host, token, limitMs },
      onEvent: (event, rank, text) => {
        if (event === 'words') this.heard(rank, text)
        else this.lost(rank, event === 'failed' ? 'closed' : event)
      },
    })
  }

  get port(): number {
    return this.pulse.port
  }

  /** Whether a lost rank is known. */
  get knows(): boolean {
    return this.found.size > 0
  }

  /** Called when a rank is lost, with what is known then; the last that was given hears of it. */
  onLost(listener: (error: Error) => void): void {
    this.listeners.clear()
    this.listeners.add(listener)
  }

  lost(rank: number, how: How, { how: more = '', words = '' } = {}): void {
    if (this.closed) return
    const before = this.found.get(rank)
    if (words) this.words.set(rank, words.slice(-keptText))
    // A process that has ended says more than its connection that has closed.
    if (!before || how === 'ended') this.found.set(rank, { how, more })
    if (!before) for (const listener of this.listeners) listener(this.errorOf(rank))
  }

  /** Why ranks cannot go on: the error that names the rank behind symptoms. More of them may come while this waits. */
  async verdict(symptoms: readonly Error[]): Promise<Error> {
    const { limitMs } = this.options
    // A collective and a rank's signs of life have the same time limit; the signs may be late by two intervals.
    const end = performance.now() + Math.min(10_000, limitMs / 5) + 500
    while (!this.knows && !this.closed && performance.now() < end) await pause(20)
    if (this.knows) {
      const reported = performance.now() + reportMs
      while (performance.now() < reported && ![...this.found.values()].some(({ how }) => how === 'ended'))
        await pause(20)
      return this.errorOf(this.first())
    }
    return this.closed ? symptoms[0]! : this.behind(symptoms)
  }

  close(reason?: string): void {
    if (this.closed) return
    this.closed = true
    clearInterval(this.timer)
    this.pulse.close(reason)
  }

  /** A rank in a loop that never ends uses its processor, and answers nothing: programs run beside its event loop, which always turns. */
  private findBusy(): void {
    const { size, limitMs } = this.options
    for (let rank = 1; rank < size; rank++)
      if ((this.pulse.look(rank)?.loopMs ?? 0) > limitMs && !this.found.has(rank)) this.lost(rank, 'busy')
  }

  private first(): number {
    const ranks = [...this.found]
    return (ranks.find(([, { how }]) => how === 'ended') ?? ranks[0]!)[0]
  }

  private heard(rank: number, text: string): void {
    this.words.set(rank, ((this.words.get(rank) ?? '') + text).slice(-keptText))
  }

  private errorOf(rank: number): RankError {
    const { nameOf, limitMs } = this.options
    const { how, more } = this.found.get(rank)!
    const seconds = limitMs / 1000
    const says = {
      closed: 'is gone: its connection has closed',
      ended: more || 'has ended',
      silent: `has given no sign of life for ${seconds} s: it is stopped, or the network to it is lost`,
      busy: `has not answered for ${seconds} s: it is busy, and its event loop does not turn`,
      stuck: `has done nothing for ${seconds} s: its event loop does not turn, and it uses no processor`,
    }[how]
    return new RankError(`${nameOf(rank)} ${says}${this.lastWords(rank)}`, { remedy })
  }

  /** No rank is lost, and yet a collective failed: some rank is not where the others are. */
  private behind(symptoms: readonly Error[]): Error {
    const symptom = symptoms[0]!
    const { size, nameOf, limitMs } = this.options
    const states = Array.from({ length: size }, (_, rank) => ({ rank, begun: this.pulse.look(rank)?.begun ?? 0 }))
    const most = Math.max(...states.map(({ begun }) => begun))
    const late = states.filter(({ begun }) => begun < most)
    const cause = { cause: symptom, remedy }
    const other = late.length === 0 ? otherCollective(symptoms) : undefined
    if (other) return new RankError(`${nameOf(other.rank)} ${other.made}: its order of collectives differs`, cause)
    if (late.length === 0)
      return new RankError(
        `a collective failed although all ranks took part (${symptom.message}): look at the network between them`,
        cause,
      )
    const who = late.map(({ rank, begun }) => `${nameOf(rank)} (at collective ${begun})${this.lastWords(rank)}`)
    return new RankError(
      `the others waited ${limitMs / 1000} s in collective ${most} for ${who.join(', ')}: its order of collectives differs`,
      cause,
    )
  }

  private lastWords(rank: number): string {
    const lines = (this.words.get(rank) ?? '').trim().split('\n').slice(-shownLines)
    return lines[0] === '' ? '' : `. Its last words: ${lines.join('\n  ')}`
  }
}

/** The rank that made another collective than most, as the ranks' errors say. */
function otherCollective(symptoms: readonly Error[]): { rank: number; made: string } | undefined {
  const kinds = new Map<number, string>()
  for (const { message } of symptoms) {
    const [, rank, kind] = /rank (\d+): a collective \((.+?)\) failed/.exec(message) ?? []
    if (rank !== undefined) kinds.set(Number(rank), kind!)
  }
  const count = (kind: string): number => [...kinds.values()].filter(one => one === kind).length
  const [usual] = [...kinds.values()].sort((a, b) => count(b) - count(a))
  // Between two ranks, the controller is right.
  const expected = kinds.size === 2 ? (kinds.get(0) ?? usual) : usual
  const found = [...kinds].find(([, kind]) => kind !== expected)
  return found && { rank: found[0], made: `made the collective ${found[1]} where the others made ${expected}` }
}

const remedy = 'Start the command again. A training goes on from its run directory with --resume; with fewer ranks too.'

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
