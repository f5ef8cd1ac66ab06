import { NonFiniteError } from './errors.js';
import { pooledPosition } from './pooling.js';
import { idsOf } from './sequence.js';
/** What a model answers with: log-probabilities, a value per token, or a score per sequence. */
export const roles = ['language', 'value', 'reward'];
/** The positions whose output is wanted: those before each predicted token, or the one that a reward model is asked at. */
export function wantedPositions(role, sequences, { from, padding }) {
    if (role === 'reward')
        return i => {
            const start = pooledPosition(sequences[i], padding);
            return { start, end: start + 1 };
        };
    return i => {
        const first = (typeof from === 'number' ? from : from?.[i]) ?? 1;
        const { length } = idsOf(sequences[i]);
        if (!Number.isInteger(first) || first < 1 || first > length)
            throw new RangeError(`from[${i}] should be between 1 and ${length}, got ${first}`);
        return { start: first - 1, end: length - 1 };
    };
}
/** Outputs as ragged arrays; a number that is not finite names its sequence. */
export async function readOutputs(role, plan, counts, tensors) {
    const arrays = (await Promise.all(tensors.map(tensor => tensor.data())));
    let at = 0;
    return plan.sequences.map((index, k) => {
        const slices = arrays.map(array => array.slice(at, at + counts[k]));
        at += counts[k];
        for (const slice of slices)
            if (slice.some(value => !Number.isFinite(value)))
                throw new NonFiniteError('the output', index);
        const [first, second] = slices;
        if (role === 'language')
            return { logprobs: first, ...(second ? { entropy: second } : {}) };
        return (role === 'value' ? { values: first } : { score: first[0] });
    });
}
/** Ragged gradients as one array per output, checked. */
export function flattenGradients(role, plan, counts, given, outputs) {
    const total = counts.reduce((sum, n) => sum + n, 0);
    const flat = Array.from({ length: outputs }, () => new Float32Array(total));
    let at = 0;
    for (const [k, gradient] of given.entries()) {
        const index = plan.sequences[k];
        const wide = gradient;
        const arrays = role === 'language' ? [wide.logprobs, wide.entropy] : [wide.values ?? Float32Array.of(wide.score ?? Number.NaN)];
        if (wide.entropy && outputs < 2)
            throw new RangeError('a gradient of the entropy needs forwardBackward(..., { entropy: true })');
        for (const [j, array] of arrays.entries()) {
            if (!array)
                continue;
            if (array.length !== counts[k])
                throw new RangeError(`the gradient of sequence ${index} has ${array.length} entries, its output ${counts[k]}`);
            if (array.some(value => !Number.isFinite(value)))
                throw new NonFiniteError('the gradient', index);
            flat[j].set(array, at);
        }
        at += counts[k];
    }
    return flat;
}
//# sourceMappingURL=outputs.js.map