import { createHash } from 'node:crypto'
import type { ExampleKind, Examples } from '../../data/index.js'

/** The kinds of rows that are trained on as they are. */
export type SupervisedKind = Exclude<ExampleKind, 'prompts'>

const contents: { [K in SupervisedKind]: (example: Examples[K]) => readonly (Int32Array | Uint8Array | string)[] } = {
  conversations: ({ ids, mask }) => [ids, mask],
  preferences: ({ chosen, rejected, promptLength, margin }) => [chosen, rejected, `${promptLength} ${margin}`],
  labelled: ({ ids, promptLength, desirable }) => [ids, `${promptLength} ${desirable}`],
}

/** A fingerprint of everything that a trainer sees of an example: its token ids, what of them is trained, its label. */
export function exampleDigest<K extends SupervisedKind>(kind: K, example: Examples[K]): string {
  const hash = createHash('sha256')
  for (const part of contents[kind](example)) {
    hash.update(`${typeof part === 'string' ? part.length : part.byteLength}:`)
    hash.update(part)
  }
  return hash.digest('hex').slice(0, 16)
}
