/**
 * Takes ids from an engine, a file or a slice of other ids. `vocabSize` is the number of rows of the embedding the ids
 * will index, which may exceed the tokenizer's own vocabulary when a model pads it.
 *
 * @example
 * const response = tokenIds(completion.token_ids, { vocabSize: tokenizer.vocabSize })
 */
export function tokenIds(ids, { vocabSize }) {
    if (!Number.isInteger(vocabSize) || vocabSize < 1) {
        throw new RangeError(`vocabSize must be a positive integer, got ${vocabSize}`);
    }
    const out = new Int32Array(ids.length);
    for (let i = 0; i < ids.length; i++) {
        const id = ids[i];
        // Checked before storing: a typed array would silently turn 1.5 into 1 and 2 ** 32 into 0.
        if (!Number.isInteger(id) || id < 0 || id >= vocabSize) {
            throw new RangeError(`token id at position ${i}: expected an integer in [0, ${vocabSize}), got ${String(id)}`);
        }
        out[i] = id;
    }
    return out;
}
//# sourceMappingURL=token-ids.js.map