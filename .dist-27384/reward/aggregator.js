import { answersOf } from './aggregated.js';
import { defaultLimits } from './source.js';
/** The aggregator as a source of its own: what goes wrong in it is handled as in any other. */
export function aggregatorSource(fn, labelMap) {
    // The function of a file is a source already: it runs in the process of the file.
    if ('source' in fn)
        return fn.source;
    const count = Object.keys(labelMap).length;
    return {
        name: 'rewardFn',
        kind: 'function',
        limits: defaultLimits.batchFunction,
        async score(samples) {
            const inputs = samples.map(sample => sample.input);
            const aggregated = await fn(Array.from({ length: count }, (_, source) => samples.map(({ scores }) => scores[source])), inputs.map(input => input.label), inputs.map(input => input.query), inputs.map(input => input.reference), labelMap, inputs);
            return answersOf(aggregated ?? {}, samples.length);
        },
    };
}
//# sourceMappingURL=aggregator.js.map