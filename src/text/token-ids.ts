declare const brand: unique symbol

/**
 * Token ids exactly as a tokenizer or an engine produced them.
 *
 * The brand exists so that nothing is ever re-tokenised: there is no way from a string to `TokenIds` except encoding a
 * prompt once, and ids that come back from an engine or a file are taken as they are by `tokenIds`, which checks them.
 * Treat the array as read-only: samples share it.
 */
export type TokenIds = Int32Array & { readonly [brand]: 'TokenIds' }

/**
 * Takes ids from an engine, a file or a slice of other ids. `vocabSize` is the number of rows of the embedding the ids
 * will index, which may exceed the tokenizer's own vocabulary when a model pads it.
 *
 * @example
 * const response = tokenIds(completion.token_ids, { vocabSize: tokenizer.vocabSize })
 */
export function tokenIds(ids: ArrayLike<number>, { vocabSize }: { vocabSize: number }): TokenIds {
  if (!Number.isInteger(vocabSize) || vocabSize < 1) {
    throw new RangeError(`vocabSize must be a positive integer, got ${vocabSize}`)
  }
  const out = new Int32Array(ids.length)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]
    // Checked before storing: a typed array would silently turn 1.5 into 1 and 2 ** 32 into 0.
    if (!Number.isInteger(id) || id! < 0 || id! >= vocabSize) {
      throw new RangeError(`token id at position ${i}: expected an integer in [0, ${vocabSize}), got ${String(id)}`)
    }
    out[i] = id!
  }
  return out as TokenIds
}
