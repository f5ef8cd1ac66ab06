import { createHash } from 'node:crypto'
import { type ExampleKind, type Examples, sequencesOf } from '../../data/index.js'
import { firstTrained } from '../../sequence/index.js'

/** The kinds of rows that are trained on as they are. */
export type SupervisedKind = Exclude<ExampleKind, 'prompts'>
export type SupervisedExample = Examples[SupervisedKind]

const contents: { [K in SupervisedKind]: (example: Examples[K]) => readonly (Int32Array | Uint8Array | string)[] } = {
  conversations: ({ sequence: { ids, trained } }) => [ids, trained],
  preferences: ({ chosen, rejected, margin }) => [chosen.ids, rejected.ids, `${firstTrained(chosen)} ${margin}`],
  labelled: ({ sequence, desirable }) => [sequence.ids, `${firstTrained(sequence)} ${desirable}`],
}

/** A fingerprint of everything that a trainer sees of an example: its token ids, its images, what is trained, its label. */
export function exampleDigest<K extends SupervisedKind>(kind: K, example: Examples[K]): string {
  const hash = createHash('sha256')
  const seen = sequencesOf(example).flatMap(({ media }) => media.map(({ pixels }) => pixels.hash))
  for (const part of [...contents[kind](example), ...seen]) {
    hash.update(`${typeof part === 'string' ? part.length : part.byteLength}:`)
    hash.update(part)
  }
  return hash.digest('hex').slice(0, 16)
}

/** The name of an example's row: all its sequences have it. */
export function promptIdOf(example: SupervisedExample): string {
  return sequencesOf(example)[0]!.promptId
}
