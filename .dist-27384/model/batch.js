/** Sequences of any length to batches an engine runs at once. Pure. */
/**
 * Longest first, so that those of a batch are of similar length and the largest batch comes first: memory that suffices for
 * it suffices for all.
 */
export function planBatches(lengths, { tokenBudget, packing, groupSize = 1 }) {
    if (lengths.length % groupSize !== 0)
        throw new RangeError(`${lengths.length} sequences do not make whole groups of ${groupSize}`);
    const groups = Array.from({ length: lengths.length / groupSize }, (_, g) => {
        const sequences = Array.from({ length: groupSize }, (_, i) => g * groupSize + i);
        return { sequences, longest: Math.max(...sequences.map(i => lengths[i])) };
    });
    groups.sort((a, b) => b.longest - a.longest || a.sequences[0] - b.sequences[0]);
    const plans = [];
    let current = [];
    let rows = 0;
    let longest = 0;
    const close = () => {
        if (current.length === 0)
            return;
        const equal = current.every(i => lengths[i] === longest);
        plans.push({ sequences: current, length: longest, packed: packing === 'on' && !equal });
        current = [];
        rows = 0;
        longest = 0;
    };
    for (const group of groups) {
        const added = group.sequences.reduce((sum, i) => sum + lengths[i], 0);
        // Groups come longest first, so the first one of a batch says how wide its padding is.
        const width = Math.max(longest, group.longest);
        const cost = packing === 'on' ? rows + added : (current.length + group.sequences.length) * width;
        if (current.length > 0 && cost > tokenBudget)
            close();
        current.push(...group.sequences);
        rows += added;
        longest = Math.max(longest, group.longest);
    }
    close();
    return plans;
}
/**
 * What the sequences of a batch need not compute again, by their place in the plan: samples of one prompt, answers to one
 * question. Only rows before the first one whose output is wanted are shared, so that a wanted row is one sequence's own.
 */
export function sharedPrefixes(plan, sequences, wanted) {
    const owners = new Map();
    return plan.sequences.map((index, k) => {
        const { start: length } = wanted(index);
        if (length === 0)
            return undefined;
        const key = sequences[index].subarray(0, length).join();
        const owner = owners.get(key);
        if (owner === undefined)
            owners.set(key, k);
        return owner === undefined ? undefined : { owner, length };
    });
}
/** A seed's 53 bits as the 32 that a key has. */
const foldSeed = (seed) => (seed ^ Math.imul(Math.floor(seed / 2 ** 32), 0x9e3779b9)) | 0;
/**
 * `wanted[i]` is the range of positions of sequence i whose output is wanted: for log-probabilities of tokens `from..n`
 * these are the positions before them.
 */
export function fillBatch(plan, sequences, wanted, { dropout, prefixes, } = {}) {
    const { length } = plan;
    const packed = plan.packed || prefixes !== undefined;
    const lengths = plan.sequences.map((i, k) => sequences[i].length - (prefixes?.[k]?.length ?? 0));
    const total = packed ? lengths.reduce((sum, n) => sum + n, 0) : length * lengths.length;
    const ranges = plan.sequences.map(wanted);
    const counts = ranges.map(({ start, end }) => end - start);
    const outputs = counts.reduce((sum, n) => sum + n, 0);
    const arrays = {
        ids: new Int32Array(total),
        ropePositions: new Int32Array(total),
        pad: packed ? new Int32Array(length * lengths.length) : undefined,
        unpad: packed ? new Int32Array(total) : undefined,
        cuSeqlens: new Int32Array(lengths.length + 1),
        rows: new Int32Array(outputs),
        targets: new Int32Array(outputs),
        counts,
        dropoutKeys: dropout && new Int32Array(4 * total),
    };
    const seed = dropout && foldSeed(dropout.seed);
    /** The row of each sequence's first token. */
    const firstRows = [];
    let row = 0;
    let output = 0;
    for (const [k, index] of plan.sequences.entries()) {
        const ids = sequences[index];
        const { owner = k, length: borrowed = 0 } = prefixes?.[k] ?? {};
        firstRows[k] = packed ? row : k * length;
        for (let t = 0; t < borrowed; t++)
            arrays.pad[k * length + t] = firstRows[owner] + t;
        const first = firstRows[k] - borrowed;
        arrays.ids.set(ids.subarray(borrowed), firstRows[k]);
        arrays.cuSeqlens[k + 1] = first + ids.length;
        for (let t = borrowed; t < ids.length; t++) {
            arrays.ropePositions[first + t] = t;
            if (dropout)
                arrays.dropoutKeys.set([seed, dropout.step, dropout.firstSequence + index, t], 4 * (first + t));
            if (packed) {
                arrays.pad[k * length + t] = first + t;
                arrays.unpad[first + t] = k * length + t;
            }
        }
        const { start, end } = ranges[k];
        for (let t = start; t < end; t++) {
            arrays.rows[output] = first + t;
            arrays.targets[output++] = ids[t + 1] ?? 0;
        }
        row += lengths[k];
    }
    return arrays;
}
//# sourceMappingURL=batch.js.map