/** The responses behind a batch of preferences: what is scored, and under which name. Pure. */
import type { LabelledExample, PreferenceExample } from '../../data/index.js'
import type { Response } from './reference-logprobs.js'

/** The first token of a response; where there is no prompt, the first that something predicts. */
const firstToken = (promptLength: number): number => Math.max(1, promptLength)

/** The chosen answer of each pair, then the rejected one. */
export function pairResponses(pairs: readonly PreferenceExample[]): Response[] {
  return pairs.flatMap(row => {
    const from = firstToken(row.promptLength)
    return [
      { key: `${row.promptId} chosen`, row, ids: row.chosen, from },
      { key: `${row.promptId} rejected`, row, ids: row.rejected, from },
    ]
  })
}

export function labelledResponses(rows: readonly LabelledExample[]): Response[] {
  return rows.map(row => ({ key: row.promptId, row, ids: row.ids, from: firstToken(row.promptLength) }))
}

/**
 * Each row's prompt with the response of the next row that has another prompt: kto's estimate of the KL to the reference is a
 * mean over them. A response that does not fit behind the prompt is cut; where nothing of it fits, there is none.
 */
export function mismatchedResponses(rows: readonly LabelledExample[], maxLength: number): Response[] {
  return rows.flatMap((row, i) => {
    const prompt = row.ids.subarray(0, row.promptLength)
    const others = [...rows.slice(i + 1), ...rows.slice(0, i)]
    const other = others.find(one => !sameIds(one.ids.subarray(0, one.promptLength), prompt))
    if (!other) return []
    const response = other.ids.subarray(other.promptLength)
    const ids = new Int32Array(Math.min(prompt.length + response.length, maxLength))
    const from = firstToken(prompt.length)
    if (ids.length <= from) return []
    ids.set(prompt)
    ids.set(response.subarray(0, ids.length - prompt.length), prompt.length)
    return [{ key: `${row.promptId} ${other.promptId}`, row, ids, from }]
  })
}

function sameIds(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
