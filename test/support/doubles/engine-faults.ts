/** What a test can make a protocol double do wrong. */

export type Fault =
  /** Answers with it at once. */
  | { kind: 'status'; status: number; retryAfter?: string; body?: unknown }
  /** Accepts, and never answers. */
  | { kind: 'hang' }
  /** Closes the connection when it has read the request. */
  | { kind: 'reset' }
  /** Closes the connection when the request has so many tokens: in the middle of its answer, or of its stream. */
  | { kind: 'cut'; tokens: number }
  /** The server ends the request by itself after so many tokens, with what it has. */
  | { kind: 'abort'; tokens: number }
  | { kind: 'spoil'; how: Spoiling }

/** Ways for an answer to be wrong. */
export type Spoiling =
  | 'truncated-json'
  | 'not-json'
  | 'wrong-json'
  | 'fewer-completions'
  | 'more-completions'
  | 'missing-ids'
  | 'short-logprobs'
  | 'nan-logprobs'
  | 'strange-ids'

export interface PlannedFault {
  fault: Fault
  /** The path it falls on; default: those that generate. */
  on?: string
  /** Of the requests there, those with such a body. Default: all. */
  when?: (body: unknown) => boolean
  /** How many requests it falls on. Default 1. */
  times?: number
}

/** Faults that wait for their requests, oldest first. */
export class FaultPlan {
  private planned: (PlannedFault & { left: number })[] = []

  plan(fault: PlannedFault): void {
    this.planned.push({ ...fault, left: fault.times ?? 1 })
  }

  clear(): void {
    this.planned = []
  }

  take({ path, body, generates }: { path: string; body: unknown; generates: boolean }): Fault | undefined {
    const found = this.planned.find(
      ({ on, when = () => true }) => (on === undefined ? generates : path === on) && when(body),
    )
    if (found && --found.left === 0) this.planned.splice(this.planned.indexOf(found), 1)
    return found?.fault
  }
}

/** How an answer, or an event of a stream, looks when it is spoiled. */
export function spoiled(
  answer: unknown,
  how: Spoiling,
  spoilers: Readonly<Record<AnswerSpoiling, (answer: unknown) => unknown>>,
): string {
  const text = JSON.stringify(answer)
  if (how === 'truncated-json') return text.slice(0, text.length >> 1)
  if (how === 'not-json') return '<html><body>502 Bad Gateway</body></html>'
  if (how === 'wrong-json') return '{"hello":"world"}'
  // JSON has no NaN, and Python's encoder writes it all the same.
  if (how === 'nan-logprobs') return JSON.stringify(spoilers[how](answer)).replaceAll('"NaN"', 'NaN')
  return JSON.stringify(spoilers[how](answer))
}

export type AnswerSpoiling = Exclude<Spoiling, 'truncated-json' | 'not-json' | 'wrong-json'>
