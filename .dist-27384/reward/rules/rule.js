import { SourceError } from '../errors.js';
import { defaultLimits } from '../source.js';
/** The references of a sample. Without one there is nothing to compare with, which is a failure and not a wrong answer. */
export function referencesOf(rule, { reference }) {
    const list = typeof reference === 'string' ? [reference] : (reference ?? []);
    if (list.length === 0)
        throw new SourceError('input', `the rule ${rule} compares with a reference, and the sample has none`);
    return list;
}
/** A rule as a source: quick and never waiting, so that many samples go in one call. What one of them lacks is its own failure. */
export function rule(name, grade, needs = {}) {
    const answer = (input) => {
        try {
            return grade(input);
        }
        catch (error) {
            const reason = error instanceof SourceError ? error.reason : 'threw';
            return { kind: 'failed', reason, message: error.message };
        }
    };
    return { name, kind: 'rule', limits: defaultLimits.rule, ...needs, score: async (inputs) => inputs.map(answer) };
}
//# sourceMappingURL=rule.js.map