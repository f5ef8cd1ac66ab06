/** Parts of nearly equal size, in order: `gather` of them is the list again. */
export function scatter(items, workers) {
    return Array.from({ length: workers }, (_, i) => items.slice(Math.floor((i * items.length) / workers), Math.floor(((i + 1) * items.length) / workers)));
}
export function gather(parts) {
    return parts.flat();
}
/**
 * Models with the same weights as one: each scores a part of the sequences, all at the same time. A model's numbers for a
 * sequence do not depend on the others in its batch, so those of several workers are those of one.
 */
export function dataParallel(models) {
    const all = (work) => async () => {
        await Promise.all(models.map(work));
    };
    return {
        capabilities: models[0].capabilities,
        maxLength: Math.min(...models.map(({ maxLength }) => maxLength)),
        async score(sequences, options = {}) {
            const { from, ...rest } = options;
            const parts = scatter(sequences, models.length);
            const starts = scatter(typeof from === 'object' ? from : [], models.length);
            return gather(await Promise.all(parts.map((part, i) => {
                if (part.length === 0)
                    return [];
                const own = typeof from === 'object' ? starts[i] : from;
                return models[i].score(part, { ...rest, ...(own === undefined ? {} : { from: own }) });
            })));
        },
        offload: all(model => model.offload()),
        reload: all(model => model.reload()),
    };
}
/** What the model says of each sequence's tokens from `from` on. */
export async function scoreResponses(model, sequences, from, options) {
    const { microRolloutBatchSize: size, packingSamples, ...rest } = options;
    const found = [];
    for (let start = 0; start < sequences.length; start += size) {
        const part = sequences.slice(start, start + size);
        const scored = await model.score(part, {
            ...rest,
            from: from.slice(start, start + size),
            packing: packingSamples ? 'on' : 'off',
        });
        for (const output of scored)
            found.push(output);
    }
    return found;
}
/** The share of rows of padded batches of `size` sequences that hold no token. */
export function paddingShare(lengths, size) {
    let rows = 0;
    let tokens = 0;
    for (let start = 0; start < lengths.length; start += size) {
        const part = lengths.slice(start, start + size);
        rows += part.length * Math.max(...part);
        tokens += part.reduce((sum, length) => sum + length, 0);
    }
    return rows === 0 ? 0 : 1 - tokens / rows;
}
//# sourceMappingURL=inference.js.map