import { WhetstoneError } from '../errors/index.js';
import { estimatorTraits, isGroupEstimator } from './estimators.js';
import { groupsOf, usualGroupSize } from './groups.js';
/** A rollout advantages cannot be taken of. Nothing was computed. */
export class RolloutError extends WhetstoneError {
    problems;
    name = 'RolloutError';
    constructor(problems) {
        const shown = problems.slice(0, 10).map(({ sample, field, message }) => `sample ${sample}: ${field}: ${message}`);
        const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
        super([...shown, ...more].join('\n'));
        this.problems = problems;
    }
}
/** Everything that keeps a rollout from being used under the options: empty for a good one. */
export function rolloutProblems(samples, options) {
    const needs = needsOf(samples, options);
    return [
        ...samples.flatMap((sample, place) => sampleProblems(sample, place, needs)),
        ...groupProblems(samples, options),
    ];
}
function needsOf(samples, options) {
    const { advantageEstimator: estimator, klCoef, useKlLoss } = options;
    const needs = {};
    if (samples.some(({ refLogprobs }) => refLogprobs)) {
        needs.logprobs = 'KL to the reference needs them';
        needs.refLogprobs = 'other samples have them';
    }
    else if (klCoef && !useKlLoss)
        needs.refLogprobs = `klCoef ${klCoef} needs them; klCoef 0 leaves KL out`;
    if (estimatorTraits(estimator).values === 'needed')
        needs.values = `${estimator} needs a critic's values`;
    if (isGroupEstimator(estimator))
        needs.group = `${estimator} compares the samples of a group`;
    return needs;
}
const tokenFields = ['logprobs', 'refLogprobs', 'values'];
function sampleProblems(sample, place, needs) {
    const problems = [];
    const add = (field, message) => problems.push({ sample: place, field, message });
    if (!Number.isFinite(sample.reward))
        add('reward', `expected a finite number, got ${sample.reward}`);
    if (!Number.isSafeInteger(sample.length) || sample.length < 1)
        add('length', `expected at least one token, got ${sample.length}`);
    if (sample.group === undefined && needs.group)
        add('group', `missing; ${needs.group}`);
    for (const field of tokenFields) {
        const values = sample[field];
        if (!values) {
            if (needs[field])
                add(field, `missing; ${needs[field]}`);
        }
        else if (values.length !== sample.length) {
            add(field, `expected ${sample.length} numbers, one per token, got ${values.length}`);
        }
        else {
            const bad = firstNonFinite(values);
            if (bad >= 0)
                add(field, `expected finite numbers, got ${values[bad]} at token ${bad}`);
        }
    }
    return problems;
}
/** -1 where all are finite. */
export function firstNonFinite(values) {
    for (let t = 0; t < values.length; t++)
        if (!Number.isFinite(values[t]))
            return t;
    return -1;
}
function groupProblems(samples, options) {
    const { advantageEstimator: estimator, nSamplesPerPrompt } = options;
    if (!isGroupEstimator(estimator))
        return [];
    const groups = groupsOf(samples);
    const size = nSamplesPerPrompt ?? usualGroupSize(groups);
    const problems = [];
    for (const { key, places } of groups) {
        const one = `${JSON.stringify(key)} has ${places.length === 1 ? '1 sample' : `${places.length} samples`}`;
        if (places.length < 2)
            problems.push({ sample: places[0], field: 'group', message: `${one}; ${estimator} needs at least 2` });
        else if (places.length !== size)
            problems.push({
                sample: places[0],
                field: 'group',
                message: `${one}, expected ${size} as ${nSamplesPerPrompt === undefined ? 'in the other groups' : 'nSamplesPerPrompt says'}; a group that lost samples is completed or left out whole`,
            });
    }
    return problems;
}
//# sourceMappingURL=rollout-samples.js.map