/**
 * SentencePiece's BPE. Its vocabulary has a score for each piece, and any two neighbours that form a piece may be merged; a
 * `tokenizer.json` has a list of the pairs that may, the first to be merged first.
 */

import { tokenTypes } from './token-types.js'
import type { FileTokens } from './tokenizer-in.js'

type Json = Readonly<Record<string, unknown>>

const space = '▁'

/** The parts of a tokenizer.json that depend on the kind of tokenizer. `prefix`: a space comes before each text. */
export function sentencePieceJson(
  { texts, types, scores }: FileTokens,
  { prefix, unknown }: { prefix: boolean; unknown: number | undefined },
): Json {
  const pieces = new Map(
    texts.flatMap((text, id) => (types[id] === tokenTypes.normal ? [[text, { id, score: scores[id]! }] as const] : [])),
  )
  const spaces = { type: 'Replace', pattern: { String: ' ' }, content: space }
  return {
    // As llama.cpp does it: a space before every text between special tokens.
    normalizer: prefix ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: space }, spaces] } : spaces,
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: space }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown === undefined ? null : texts[unknown],
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(texts.map((token, id) => [token, id])),
      merges: mergesOf(pieces),
    },
  }
}

type Pieces = ReadonlyMap<string, { readonly id: number; readonly score: number }>

function mergesOf(pieces: Pieces): (readonly [string, string])[] {
  return [...pieces]
    .flatMap(([piece, { score }]) =>
      splits(piece, pieces)
        .sort(([a, b], [c, d]) => pieces.get(a)!.id - pieces.get(c)!.id || pieces.get(b)!.id - pieces.get(d)!.id)
        .map(pair => ({ pair, score })),
    )
    .sort((a, b) => b.score - a.score)
    .map(({ pair }) => pair)
}

/** The ways to put a piece together from two others. */
function splits(piece: string, pieces: { has(text: string): boolean }): (readonly [string, string])[] {
  const characters = [...piece]
  return characters.slice(1).flatMap((_, i) => {
    const [left, right] = [characters.slice(0, i + 1).join(''), characters.slice(i + 1).join('')]
    return pieces.has(left) && pieces.has(right) ? [[left, right] as const] : []
  })
}

/**
 * The scores with which SentencePiece merges as these merges do, by token; undefined where none have: a pair that may not be merged
 * forms a piece, or pairs of one piece do not follow each other.
 */
export function scoresOf(
  normal: ReadonlySet<string>,
  merges: readonly (readonly [string, string])[],
): ReadonlyMap<string, number> | undefined {
  const scores = new Map<string, number>()
  const pairs = new Set<string>()
  let last = ''
  for (const [left, right] of merges) {
    const piece = left + right
    if (piece !== last && scores.has(piece)) return undefined
    if (!scores.has(piece)) scores.set(piece, -scores.size - 1)
    pairs.add(`${left} ${right}`)
    last = piece
  }
  for (const piece of normal)
    for (const [left, right] of splits(piece, normal)) if (!pairs.has(`${left} ${right}`)) return undefined
  return scores
}
