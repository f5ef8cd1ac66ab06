/** An episode: what was sampled and observed, turn by turn, and how it ended. */
import type { DataRow } from '../data/index.js'
import type { Sample } from '../rollout/index.js'
import { promptSequence, type Sequence, withObservation, withSampled } from '../sequence/index.js'
import type { ChatMessage } from '../text/index.js'
import type { EpisodeKey, ToolCall } from './environment.js'

/** One sampling call. Ids are those that this turn added: the sequence of an episode is their concatenation. */
export interface Turn {
  /** A new segment starts where the chat template rewrote the conversation. From 0. */
  readonly segment: number
  /** What the policy read since its last turn: text of the template and messages. In the first turn of a segment: the whole prompt. */
  readonly observationIds: Int32Array
  /** The messages among them. */
  readonly messages: readonly ChatMessage[]
  readonly completion: Completion
  /** Sampled tokens. */
  readonly length: number
  /** The turn of the policy as a message, with its calls. */
  readonly message: ChatMessage
  /** Sampled text without special tokens, reasoning and calls. */
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reward: number | undefined
  /** Of the state before this turn. */
  readonly stateKey: string | undefined
  /** Seconds in tools. */
  readonly toolSeconds?: number
}

/** What the engine sampled. The token that ended the turn is the last of `responseIds`. */
export type Completion = Pick<Sample, 'responseIds' | 'logprobs' | 'versions' | 'policyVersion'> & {
  readonly finishReason: 'stop' | 'length'
}

/** Limits end an episode as truncated. `sampled-tokens`: the budget of the episode. `context`: the longest sequence of the engine. */
export const limits = ['turns', 'tool-calls', 'invalid-calls', 'sampled-tokens', 'context', 'time'] as const
export type Limit = (typeof limits)[number]

/** `done`: the session said so. `answered`: nothing was left to answer. `tool-stop`: a tool ended the episode. */
export type Stop = 'done' | 'answered' | 'tool-stop' | Limit

export interface Episode {
  readonly key: EpisodeKey
  /** At least one. */
  readonly turns: readonly Turn[]
  readonly stop: Stop
  /** The environment's: of all turns, and of the episode. Undefined: it gave none. */
  readonly reward: number | undefined
  /** Calls of an agent that are no part of the episode: they are not trained. */
  readonly sideCalls?: number
  /** A session that could not be closed, and why. The episode counts all the same. */
  readonly leak?: string
}

/** Where an environment failed. `effect-unknown`: a call that must not be repeated may have been delivered, and its answer is lost. */
export type FailurePlace = 'open' | 'start' | 'step' | 'tool' | 'generator' | 'template' | 'effect-unknown'

/**
 * `truncated`: a limit ended it; it is scored as any other. `unscorable`: the environment could not score it. `rejected`: the row cannot
 * become an episode. `failed`: the environment failed in every attempt. The last three have no reward; none of them is a reward of 0.
 */
export type EpisodeOutcome =
  | { readonly kind: 'finished' | 'truncated'; readonly episode: Episode }
  | { readonly kind: 'unscorable'; readonly episode: Episode; readonly message: string }
  | { readonly kind: 'rejected'; readonly key: EpisodeKey; readonly reason: string; readonly message: string }
  | {
      readonly kind: 'failed'
      readonly key: EpisodeKey
      readonly at: FailurePlace
      readonly message: string
      /** Of the last attempt, before it failed; none where the episode was read from a journal. */
      readonly turns?: readonly Turn[]
    }

/**
 * The sequences that training reads: one for each segment. Sampled tokens are trained, all others are not.
 *
 * @example
 * const turns: Episode['turns'] = []
 * const [sequence] = episodeSequences({ turns }, { promptId: 'row-7', row: {} })
 */
export function episodeSequences<Row = DataRow>(
  { turns }: Pick<Episode, 'turns'>,
  { promptId, row }: { readonly promptId: string; readonly row: Row },
): Sequence<Row>[] {
  const sequences: Sequence<Row>[] = []
  for (const { segment, observationIds, completion } of turns) {
    const before = sequences[segment]
    const read = before
      ? withObservation(before, observationIds)
      : promptSequence({ ids: observationIds, promptId, row })
    sequences[segment] = withSampled(read, completion.responseIds)
  }
  return sequences
}
