/** An episode as its journal has it, for those who look at a run: one sample of all turns, and which of its tokens the policy sampled. */
import type { EpisodeJournalRecord } from '../../environment/index.js'
import { RecordedAttempt } from '../../environment/records.js'
import type { Outcome, SampleLogprobs } from '../../rollout/index.js'

type RecordOf<K extends EpisodeJournalRecord['kind']> = Extract<EpisodeJournalRecord, { kind: K }>

export interface JournalledEpisode {
  readonly outcome: Outcome
  /** Of each token of the response: 1 where the policy sampled it, 0 where it was observed. */
  readonly sampled: Uint8Array
  readonly turns: readonly RecordOf<'turn'>[]
  readonly results: readonly RecordOf<'call-result'>[]
  readonly end: RecordOf<'episode'>
}

/** Undefined where the episode has not ended. */
export function journalledEpisode(records: readonly EpisodeJournalRecord[]): JournalledEpisode | undefined {
  const end = records.findLast(record => record.kind === 'episode')
  if (!end) return undefined
  const { turns, results } = new RecordedAttempt(end.attempt, records)
  const { promptId, sample, message = '' } = end
  const of = { requestId: '', promptId, sample, seed: undefined }
  const lost = end.of === 'failed' || end.of === 'rejected' || turns.length === 0
  if (lost) {
    const reason = end.reason ?? end.at ?? end.of
    const outcome = { ...of, kind: end.of === 'rejected' ? 'rejected' : 'failed', reason, message }
    return { outcome: outcome as unknown as Outcome, sampled: new Uint8Array(), turns, results, end }
  }
  const { responseIds, sampled } = joined(turns)
  const completions = turns.map(({ completion }) => completion)
  const outcome = {
    ...{ ...of, kind: 'completed', promptIds: turns[0]!.observationIds, responseIds },
    finishReason: end.of === 'truncated' ? 'length' : 'stop',
    logprobs: joinedLogprobs(completions.map(({ logprobs }) => logprobs)),
    policyVersion: Math.min(...completions.map(({ policyVersion }) => policyVersion)),
    versions: [],
  }
  return { outcome: outcome as unknown as Outcome, sampled, turns, results, end }
}

/** What came after the prompt, in the order in which it came. */
function joined(turns: readonly RecordOf<'turn'>[]): { responseIds: Int32Array; sampled: Uint8Array } {
  const ids: number[] = []
  const sampled: number[] = []
  for (const [place, { observationIds, completion }] of turns.entries()) {
    if (place > 0)
      for (const id of observationIds) {
        ids.push(id)
        sampled.push(0)
      }
    for (const id of completion.responseIds) {
      ids.push(id)
      sampled.push(1)
    }
  }
  return { responseIds: Int32Array.from(ids), sampled: Uint8Array.from(sampled) }
}

function joinedLogprobs(parts: readonly SampleLogprobs[]): SampleLogprobs {
  const all = (name: 'raw' | 'processed'): SampleLogprobs => {
    const given = parts.flatMap(part => part[name] ?? [])
    if (given.length < parts.length) return {}
    return { [name]: Float32Array.from(given.flatMap(values => Array.from(values))) }
  }
  return { ...all('raw'), ...all('processed') }
}
