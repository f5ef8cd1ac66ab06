/** The demo's task: digits to sort, as a careless tutor, a judge of pairs and a verifier see them. Pure. */
import { createHash } from 'node:crypto'

export interface Task {
  /** Prompts that models are trained on. */
  readonly training: readonly string[]
  /** Prompts that no stage trains on. A prompt is in one of the two lists, by its hash. */
  readonly heldOut: readonly string[]
}

/** Of all prompts. */
const heldOutShare = 0.2

/** Every row of `digits` digits, split by the hash of its prompt: a prompt stays on its side whatever others there are. */
export function makeTask({ digits, heldOutPrompts }: { digits: number; heldOutPrompts: number }): Task {
  const all = Array.from({ length: 10 ** digits }, (_, i) => `sort ${`${i}`.padStart(digits, '0')}:`)
  const byHash = all.map(prompt => ({ prompt, share: share(prompt) })).sort((a, b) => a.share - b.share)
  const heldOut = byHash.filter(one => one.share < heldOutShare).map(({ prompt }) => prompt)
  return { training: all.filter(prompt => share(prompt) >= heldOutShare), heldOut: heldOut.slice(0, heldOutPrompts) }
}

/** The right answer. */
export function answerTo(prompt: string): string {
  return sorted(prompt.replaceAll(/\D/g, ''))
}

/** How often the tutor has the last two digits the wrong way round, and how often any two neighbours. */
const slips = { last: 0.45, any: 0.15 }

/**
 * The answer of the tutor: the digits sorted, with a mistake in six of ten answers. The same seed and prompt give the same
 * answer.
 */
export function tutorAnswer(prompt: string, seed: number): string {
  const right = answerTo(prompt)
  const slip = share(`${seed}/${prompt}/slip`)
  if (slip < slips.last) return swapped(right, right.length - 2)
  if (slip < slips.last + slips.any)
    return swapped(right, Math.floor(share(`${seed}/${prompt}/place`) * (right.length - 1)))
  return right
}

/** Rows for supervised fine-tuning: what the tutor wrote. */
export const demonstrations = (prompts: readonly string[], seed: number) =>
  prompts.map(prompt => ({ prompt, completion: tutorAnswer(prompt, seed) }))

/**
 * Rows for a reward model: the correct answer against wrong ones of every kind. PPO would exploit a missing kind: with swapped
 * neighbours alone, sorted digits that are not in the prompt score as well as the correct ones.
 */
export const preferences = (prompts: readonly string[], seed: number) =>
  prompts.flatMap(prompt => {
    const chosen = answerTo(prompt)
    return wrongAnswers(prompt, seed).map(rejected => ({ prompt, chosen, rejected }))
  })

function wrongAnswers(prompt: string, seed: number): string[] {
  const right = answerTo(prompt)
  const place = (what: string, places = right.length): number => Math.floor(share(`${seed}/${prompt}/${what}`) * places)
  const replaced = (what: string): string => {
    const at = place(`${what} place`)
    return `${right.slice(0, at)}${place(`${what} digit`, 10)}${right.slice(at + 1)}`
  }
  const at = place('length')
  const answers = [
    swapped(right, right.length - 2),
    swapped(right, place('swap', right.length - 1)),
    replaced('other digit'),
    sorted(replaced('other digit in order')),
    doubled(right, place('doubled', right.length - 1), 0),
    doubled(right, place('doubled from behind', right.length - 1), 1),
    place('too short or too long', 2) === 0
      ? `${right.slice(0, at)}${right.slice(at + 1)}`
      : `${right.slice(0, at)}${right[at]}${right.slice(at)}`,
  ]
  return [...new Set(answers)].filter(answer => answer !== right)
}

/** Rows for reinforcement learning: the prompt, and the answer that a verifier compares with. */
export const verifiable = (prompts: readonly string[]) =>
  prompts.map(prompt => ({ prompt, reference: answerTo(prompt) }))

const sorted = (digits: string): string => [...digits].sort().join('')

function swapped(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at + 1]}${text[at]}${text.slice(at + 2)}`
}

/** Of two neighbours, one in both places: still in order. */
function doubled(text: string, at: number, which: 0 | 1): string {
  return `${text.slice(0, at)}${text[at + which]!.repeat(2)}${text.slice(at + 2)}`
}

/** A text's own number from 0 to 1. */
function share(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32LE(0) / 2 ** 32
}
