/** Samples of a selection, as rewards and other trainings read them. */
import type { ChatMessage } from '../../text/index.js'
import { recordOf } from './detail.js'
import { promptMessages } from './messages.js'
import { findRows, parseSampleId, rowOf, rowShown } from './query.js'
import type { SampleIndex } from './sample-index.js'
import type { SelectedSample, SelectedSamples, Selection } from './service.js'

/** The newest ones first. Samples without an answer, such as those whose generation failed, are left out. */
export async function selected(
  index: SampleIndex,
  { where, search, ids, limit, flags }: Selection,
): Promise<SelectedSamples> {
  const rows: number[] = []
  if (ids)
    for (const id of ids) {
      const row = rowOf(index, id)
      if (row !== undefined) rows.push(row)
    }
  else {
    const { matches } = await findRows(index, { where, search, searchMs: Number.POSITIVE_INFINITY, flags })
    for (const [row, match] of matches.entries()) if (match) rows.push(row)
  }
  rows.sort((a, b) => b - a)
  const samples: SelectedSample[] = []
  for (const row of rows.slice(0, limit)) {
    const { id } = await rowShown(index, row, flags, { most: 1 })
    const sample = await answered(index, id)
    if (sample) samples.push(sample)
  }
  return { matched: rows.length, samples }
}

async function answered(index: SampleIndex, id: string): Promise<SelectedSample | undefined> {
  const { promptIds, media, outcome, episode, reward } = await recordOf(index, id)
  if (outcome.kind !== 'completed') return undefined
  const tokenizer = await index.tokenizer()
  const plain = { skipSpecialTokens: true }
  const shared = {
    ...{ id, ...parseSampleId(id), promptIds, media, responseIds: outcome.responseIds, finish: outcome.finishReason },
    reward: reward?.kind === 'scored' ? reward.reward : null,
    promptText: await tokenizer.decode(promptIds),
  }
  if (!episode) {
    const answer = await tokenizer.decode(outcome.responseIds, plain)
    return { ...shared, messages: await promptMessages(tokenizer, promptIds), answer, episode: undefined }
  }
  const { turns, end } = episode
  const conversation: ChatMessage[] = []
  const seen: NonNullable<SelectedSample['episode']>['turns'][number][] = []
  for (const [place, { messages, completion }] of turns.entries()) {
    const text = await tokenizer.decode(completion.responseIds, plain)
    if (place > 0) conversation.push(...messages)
    conversation.push({ role: 'assistant', content: text })
    seen.push({ text, messages, calls: end.calls?.[place] ?? [], reward: end.turnRewards?.[place] ?? undefined })
  }
  const last = turns.at(-1)!.completion.responseIds
  return {
    ...shared,
    messages: [...turns[0]!.messages],
    answer: conversation,
    episode: { lastIds: last, turns: seen, reward: end.reward ?? undefined },
  }
}
