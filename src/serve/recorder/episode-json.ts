/** An episode as JSON: what a client gets at the end of a session, and a line of the file of episodes. */
import type { Recorder, Turn } from '../../environment/index.js'

export function episodeJson(id: string, recorder: Recorder, reward: number | undefined): object {
  const { turns, sideCalls } = recorder.line()
  const stop = recorder.limit ?? 'done'
  return {
    id,
    object: 'episode',
    kind: recorder.limit === undefined ? 'finished' : 'truncated',
    stop,
    reward: reward ?? null,
    side_calls: sideCalls,
    turns: turns.map(turnJson),
  }
}

/** `observation_ids` were read, `sampled_ids` were said: the ids of a segment are all of them, turn after turn. */
function turnJson({ segment, observationIds, messages, completion, message, text, calls }: Turn): object {
  const { responseIds, logprobs, versions, finishReason } = completion
  return {
    segment,
    messages,
    message,
    text,
    calls,
    observation_ids: Array.from(observationIds),
    sampled_ids: Array.from(responseIds),
    logprobs: {
      ...(logprobs.raw ? { raw: Array.from(logprobs.raw) } : {}),
      ...(logprobs.processed ? { processed: Array.from(logprobs.processed) } : {}),
    },
    versions,
    finish_reason: finishReason,
  }
}
