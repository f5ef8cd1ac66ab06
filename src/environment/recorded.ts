/** What an earlier process recorded of an episode: its end, or the attempt that it was killed in. */
import { parseTurn, startsWith, type Tokenizer, type ToolFormat, turnText } from '../text/index.js'
import type { Completion, EpisodeOutcome, Turn } from './episode.js'
import type { CallRecord, CallResultRecord, EpisodeJournalRecord, EpisodeRecord, TurnRecord } from './journal.js'
import type { ToolResult } from './tool.js'
import { messageOfTurn } from './turn-message.js'

/** An attempt that has not ended. Its turns are not sampled again, and its pure calls not made again, as long as the policy reads the same ids. */
export class RecordedAttempt {
  /** Whether its session was opened. */
  readonly isOpened: boolean
  readonly #turns: TurnRecord[] = []
  /** Of all attempts: calls that must not be repeated. */
  readonly #onceCalls: CallRecord[] = []
  readonly #results: CallResultRecord[] = []

  constructor(
    readonly attempt: number,
    records: readonly EpisodeJournalRecord[],
  ) {
    const own = records.filter(record => record.attempt === attempt)
    this.isOpened = own.some(({ kind }) => kind === 'episode-opened')
    for (const record of records) if (record.kind === 'call' && record.effect === 'once') this.#onceCalls.push(record)
    for (const record of own)
      if (record.kind === 'turn') {
        this.#forgetFrom(record.turn)
        this.#turns.push(record)
      } else if (record.kind === 'call-result') this.#results.push(record)
  }

  get turns(): readonly TurnRecord[] {
    return this.#turns
  }

  get results(): readonly CallResultRecord[] {
    return this.#results
  }

  /**
   * The first call that must not be repeated: of this attempt, whose session ended with the process that made it, or of any attempt where
   * no session may follow another.
   */
  onceCall({ retries }: { readonly retries: number }): CallRecord | undefined {
    return this.#onceCalls.find(({ attempt }) => attempt === this.attempt || retries === 0)
  }

  /** What was sampled at a turn. Where the policy reads something else now, everything recorded from there on is forgotten. */
  turn(turn: number, segment: number, observationIds: Int32Array): Completion | undefined {
    const record = this.#turns[turn]
    const isSame =
      record?.segment === segment &&
      record.observationIds.length === observationIds.length &&
      startsWith(record.observationIds, observationIds)
    if (isSame) return record.completion
    this.#forgetFrom(turn)
    return undefined
  }

  /** The result of a call of a turn that was not sampled again. */
  result(id: string): ToolResult | undefined {
    return this.#results.findLast(record => record.id === id)?.result
  }

  #forgetFrom(turn: number): void {
    this.#turns.splice(turn)
    const kept = this.#results.filter(record => record.turn < turn)
    this.#results.splice(0, this.#results.length, ...kept)
  }
}

interface EpisodeHistory {
  /** The episode ended. */
  readonly end: EpisodeRecord | undefined
  /** The attempt that was not ended; attempts start at 0. */
  readonly attempt: RecordedAttempt
}

/** Undefined where nothing was recorded. */
export function historyOf(records: readonly EpisodeJournalRecord[]): EpisodeHistory | undefined {
  if (records.length === 0) return undefined
  const end = records.findLast(record => record.kind === 'episode')
  const failed = records.filter(({ kind }) => kind === 'attempt-failed').length
  return { end, attempt: new RecordedAttempt(end?.attempt ?? failed, records) }
}

/** The outcome of an episode from its records: no session is opened and no tool is called. */
export async function restoredOutcome(
  end: EpisodeRecord,
  records: readonly EpisodeJournalRecord[],
  { tokenizer, format }: { readonly tokenizer: Tokenizer; readonly format: ToolFormat | undefined },
): Promise<EpisodeOutcome> {
  const { promptId, sample, attempt } = end
  const key = { promptId, sample, attempt }
  const message = end.message ?? ''
  if (end.of === 'failed') return { kind: 'failed', key, at: end.at ?? 'step', message }
  if (end.of === 'rejected') return { kind: 'rejected', key, reason: end.reason ?? 'rejected', message }
  const recorded = new RecordedAttempt(attempt, records)
  const turns: Turn[] = []
  for (const [i, { segment, observationIds, messages, completion, stateKey }] of recorded.turns.entries()) {
    const calls = end.calls?.[i] ?? []
    const said = parseTurn(await turnText(tokenizer, completion.responseIds), format)
    turns.push({
      segment,
      observationIds,
      messages,
      completion,
      length: completion.responseIds.length,
      message: messageOfTurn(said.text, said.reasoning, calls),
      text: said.text,
      calls,
      reward: end.turnRewards?.[i] ?? undefined,
      stateKey,
      ...(end.toolSeconds ? { toolSeconds: end.toolSeconds[i] ?? 0 } : {}),
    })
  }
  const leak = end.leak === undefined ? {} : { leak: end.leak }
  const sides = end.sideCalls === undefined ? {} : { sideCalls: end.sideCalls }
  const episode = { key, turns, stop: end.stop ?? 'done', reward: end.reward, ...sides, ...leak } as const
  return end.of === 'unscorable' ? { kind: 'unscorable', episode, message } : { kind: end.of, episode }
}

/** The record of an outcome. */
export function endRecord(outcome: EpisodeOutcome): EpisodeRecord {
  if (!('episode' in outcome)) {
    const { kind: of, key, turns: _, ...rest } = { turns: undefined, ...outcome }
    return { kind: 'episode', ...key, of, ...rest }
  }
  const { kind: of, episode } = outcome
  const { key, turns, stop, reward, sideCalls, leak } = episode
  return {
    kind: 'episode',
    ...key,
    of,
    stop,
    reward,
    turnRewards: turns.map(turn => turn.reward ?? null),
    calls: turns.map(turn => turn.calls),
    toolSeconds: turns.map(turn => turn.toolSeconds ?? 0),
    ...(sideCalls === undefined ? {} : { sideCalls }),
    ...(leak === undefined ? {} : { leak }),
    ...(outcome.kind === 'unscorable' ? { message: outcome.message } : {}),
  }
}
