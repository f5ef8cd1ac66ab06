/** Records of episodes: deltas, one for each thing that happened, so that a killed run goes on and a replay calls no tool. */
import type { ChatMessage } from '../text/index.js'
import type { EpisodeKey, ToolCall } from './environment.js'
import type { Completion, EpisodeOutcome, FailurePlace, Stop } from './episode.js'
import type { Effect, ToolResult } from './tool.js'

/** Before the session opens. Records which tools, template and version of the environment the episode had. */
interface OpenedRecord extends EpisodeKey {
  readonly kind: 'episode-opened'
  readonly environment: string
  readonly version: string
  /** Of the tools as the template gets them, and of the template. */
  readonly tools: string
  readonly template: string
}

/** After a turn was sampled. */
export interface TurnRecord extends EpisodeKey {
  readonly kind: 'turn'
  readonly turn: number
  readonly segment: number
  readonly observationIds: Int32Array
  readonly messages: readonly ChatMessage[]
  readonly completion: Completion
  readonly stateKey?: string | undefined
}

/** Before a call is made. */
export interface CallRecord extends EpisodeKey {
  readonly kind: 'call'
  readonly turn: number
  readonly id: string
  readonly name: string
  readonly effect: Effect
}

export interface CallResultRecord extends EpisodeKey {
  readonly kind: 'call-result'
  readonly turn: number
  readonly id: string
  readonly result: ToolResult
  readonly seconds: number
}

/** An attempt that failed. Another one follows where the budget allows it. */
interface AttemptFailedRecord extends EpisodeKey {
  readonly kind: 'attempt-failed'
  readonly at: FailurePlace
  readonly message: string
}

/** The end of an episode. Its turns are in records of their own. */
export interface EpisodeRecord extends EpisodeKey {
  readonly kind: 'episode'
  readonly of: EpisodeOutcome['kind']
  readonly stop?: Stop
  /** Of each turn; null: none. */
  readonly turnRewards?: readonly (number | null)[]
  readonly calls?: readonly (readonly ToolCall[])[]
  readonly reward?: number | undefined
  readonly toolSeconds?: readonly number[]
  readonly sideCalls?: number | undefined
  readonly leak?: string | undefined
  readonly at?: FailurePlace
  readonly reason?: string
  readonly message?: string
}

export type EpisodeJournalRecord =
  | OpenedRecord
  | TurnRecord
  | CallRecord
  | CallResultRecord
  | AttemptFailedRecord
  | EpisodeRecord

/**
 * An episode that failed, or that its environment could not score, as one that may start again: its end becomes the end of an attempt.
 * Undefined for any other.
 */
export function restartedRecords(records: readonly EpisodeJournalRecord[]): EpisodeJournalRecord[] | undefined {
  const end = records.at(-1)
  if (end?.kind !== 'episode' || (end.of !== 'failed' && end.of !== 'unscorable')) return undefined
  const { promptId, sample, attempt, at = 'step', message = '' } = end
  return [...records.slice(0, -1), { kind: 'attempt-failed', promptId, sample, attempt, at, message }]
}

export interface EpisodeJournal {
  /** All records of an episode so far, in their order. */
  episodeRecords(key: { readonly promptId: string; readonly sample: number }): readonly EpisodeJournalRecord[]
  /** Resolves when the record is on the disk. */
  keepEpisode(record: EpisodeJournalRecord): Promise<void>
}
