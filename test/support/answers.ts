/** Answers of which one can tell the better one: it has more good words. No single word decides, and none is new when it counts. */
import { randomOf } from './supervised.js'

const good = ['kind', 'calm', 'warm', 'fair', 'true', 'safe']
const bad = ['rude', 'loud', 'cold', 'mean', 'fake', 'sick']

export interface Pair {
  readonly prompt: string
  readonly chosen: string
  readonly rejected: string
}

/** The chosen answer has three good words of four, the rejected one has one; by a seed, no two alike. */
export function answerPairs(count: number, seed: number): Pair[] {
  const random = randomOf(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const answer = (...kinds: readonly (readonly string[])[]) => {
    const words = kinds.map(pick)
    words.push(...words.splice(0, Math.floor(random() * 4)))
    return words.join(' ')
  }
  return Array.from({ length: count }, (_, i) => ({
    prompt: `Case ${seed}-${i}`,
    chosen: answer(good, good, good, bad),
    rejected: answer(bad, bad, bad, good),
  }))
}

/** Labels that say nothing: every second pair is the wrong way round. */
export const shuffledLabels = (pairs: readonly Pair[]): Pair[] =>
  pairs.map(({ prompt, chosen, rejected }, i) =>
    i % 2 === 0 ? { prompt, chosen, rejected } : { prompt, chosen: rejected, rejected: chosen },
  )

/** The same answers one by one. */
export const labelledAnswers = (pairs: readonly Pair[]) =>
  pairs.flatMap(({ prompt, chosen, rejected }) => [
    { prompt, completion: chosen, desirable: true },
    { prompt, completion: rejected, desirable: false },
  ])
