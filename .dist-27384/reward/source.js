import { RewardConfigError } from './errors.js';
/** The kinds a recipe names. */
export const sourceKinds = ['function', 'rule', 'model', 'remote'];
export const defaultLimits = {
    /** A function is asked for one sample at a time: a slow or broken one harms nobody else. */
    function: { batchSize: 1, concurrency: 32, deadlineMs: 120_000, retries: 0 },
    rule: { batchSize: 16, concurrency: 1, deadlineMs: 120_000, retries: 0 },
    batchFunction: { batchSize: Number.POSITIVE_INFINITY, concurrency: 1, deadlineMs: 120_000, retries: 0 },
    model: { batchSize: 256, concurrency: 1, deadlineMs: Number.POSITIVE_INFINITY, retries: 0 },
    remote: { batchSize: 64, concurrency: 8, deadlineMs: 120_000, timeoutMs: 60_000, retries: 5 },
};
/** The limits of a source: what was asked for over what is usual, checked. */
export function resolveLimits(source, usual, given) {
    const limits = { ...usual };
    for (const key of ['batchSize', 'concurrency', 'deadlineMs', 'timeoutMs', 'retries']) {
        const value = given[key];
        if (value === undefined)
            continue;
        const least = key === 'retries' ? 0 : 1;
        const whole = Number.isInteger(value) || (value === Number.POSITIVE_INFINITY && key !== 'retries');
        if (!whole || value < least)
            throw new RewardConfigError(`reward "${source}": ${key} should be a whole number of at least ${least}, got ${value}`);
        Object.assign(limits, { [key]: value });
    }
    return limits;
}
//# sourceMappingURL=source.js.map