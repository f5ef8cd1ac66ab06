/** The responses behind a batch of preferences: what is scored, and under which name. Pure. */
import type { LabelledExample, PreferenceExample } from '../../data/index.js'
import { firstTrained, promptSequence, trainedCount, withAnswer } from '../../sequence/index.js'
import type { Response } from './reference-logprobs.js'

/** The chosen answer of each pair, then the rejected one. */
export function pairResponses(pairs: readonly PreferenceExample[]): Response[] {
  return pairs.flatMap(({ chosen, rejected, where }) => [
    { key: `${chosen.promptId} chosen`, where, sequence: chosen },
    { key: `${rejected.promptId} rejected`, where, sequence: rejected },
  ])
}

export function labelledResponses(rows: readonly LabelledExample[]): Response[] {
  return rows.map(({ sequence, where }) => ({ key: sequence.promptId, where, sequence }))
}

/**
 * The prompt of each row with the response of the next row that has another prompt: kto estimates the KL to the reference as a
 * mean over them. A response that does not fit behind the prompt is cut, or skipped if nothing fits.
 */
export function mismatchedResponses(rows: readonly LabelledExample[], maxLength: number): Response[] {
  return rows.flatMap((row, i) => {
    const prompt = promptSequence({ ...row.sequence, ids: promptOf(row) })
    const others = [...rows.slice(i + 1), ...rows.slice(0, i)]
    const other = others.find(one => !sameIds(promptOf(one), prompt.ids))
    if (!other) return []
    const response = other.sequence.ids.subarray(firstTrained(other.sequence))
    const sequence = withAnswer(prompt, response.subarray(0, Math.max(0, maxLength - prompt.ids.length)))
    if (trainedCount(sequence) === 0) return []
    return [{ key: `${sequence.promptId} ${other.sequence.promptId}`, where: row.where, sequence }]
  })
}

const promptOf = ({ sequence }: LabelledExample): Int32Array => sequence.ids.subarray(0, firstTrained(sequence))

function sameIds(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
