/** Rows that the embedding of a model for this tokenizer needs: one more than the largest id, for a vocabulary may have holes. */
export function embeddingRows(tokenizer) {
    let id = 0;
    for (let found = 0; found < tokenizer.vocabSize; id++)
        if (tokenizer.tokenOf(id) !== undefined)
            found++;
    return id;
}
//# sourceMappingURL=embedding-rows.js.map