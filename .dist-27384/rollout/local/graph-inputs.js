/** Parts one after another. */
export function partsFrom(start) {
    let at = start;
    return {
        part(words) {
            const made = { at, words };
            at += words;
            return made;
        },
        end: () => at,
    };
}
export function samplingParts(part, samplingRows) {
    return {
        targetIds: part(samplingRows),
        keys: part(2 * samplingRows),
        settings: part(4 * samplingRows),
        forbiddenOffsets: part(samplingRows + 4),
    };
}
export function putSamplingRows(state, parts, samplingRows) {
    state.set(samplingRows.targetIds, parts.targetIds.at);
    for (let i = 0; i < samplingRows.count; i++) {
        state[parts.keys.at + 2 * i] = samplingRows.streams[3 * i];
        state[parts.keys.at + 2 * i + 1] = samplingRows.streams[3 * i + 1];
    }
    new Float32Array(state.buffer).set(samplingRows.settings, parts.settings.at);
    const { at, words } = parts.forbiddenOffsets;
    state.set(samplingRows.forbiddenOffsets, at);
    // Padding rows forbid nothing.
    state.fill(samplingRows.forbiddenIds.length, at + samplingRows.forbiddenOffsets.length, at + words);
}
/** Any arrays as one, and where each is in it. An empty one has a place too: kernels want an address. */
export function packArrays(arrays) {
    let end = 0;
    const parts = arrays.map(({ length }) => {
        const part = { at: end, words: length || 4 };
        end += 4 * Math.ceil(part.words / 4);
        return part;
    });
    const words = new Int32Array(end);
    const floats = new Float32Array(words.buffer);
    for (const [i, array] of arrays.entries())
        (array instanceof Float32Array ? floats : words).set(array, parts[i].at);
    return { words, parts };
}
/** Whether any row has topK, topP or minP. */
export function hasFilters({ count, settings }) {
    for (let i = 0; i < 4 * count; i += 4) {
        const temperature = settings[i];
        const topK = settings[i + 1];
        const topP = settings[i + 2];
        const minP = settings[i + 3];
        if (temperature > 0 && (topK > 0 || topP < 1 || minP > 0))
            return true;
    }
    return false;
}
//# sourceMappingURL=graph-inputs.js.map