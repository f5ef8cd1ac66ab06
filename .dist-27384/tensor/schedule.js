/**
 * Builds a schedule; options that make no sense are a `RangeError` here, before any training.
 *
 * @example
 * const schedule = createSchedule({ kind: 'cosine', warmupSteps: 100, totalSteps: 5000, floor: 0.1 })
 * const rate = 3e-5 * schedule(step)
 */
export function createSchedule(options) {
    const { kind, warmupSteps } = options;
    requireCount('warmupSteps', warmupSteps);
    const fall = createFall(options);
    return step => {
        if (!Number.isSafeInteger(step) || step < 0) {
            throw new RangeError(`a ${kind} schedule needs a whole step of 0 or more, not ${step}`);
        }
        return step < warmupSteps ? step / warmupSteps : fall(step);
    };
}
function createFall(options) {
    if (options.kind === 'constant')
        return () => 1;
    const { kind, warmupSteps, totalSteps, floor = 0 } = options;
    requireCount('totalSteps', totalSteps);
    if (warmupSteps > totalSteps) {
        throw new RangeError(`warmupSteps (${warmupSteps}) is more than totalSteps (${totalSteps}): the peak would never be reached`);
    }
    if (!(floor >= 0 && floor <= 1)) {
        throw new RangeError(`floor is a fraction of the peak rate, between 0 and 1, not ${floor}`);
    }
    const fallSteps = totalSteps - warmupSteps;
    return step => {
        // Held at the end: an unclamped cosine would climb again in a run that outlives its schedule.
        const progress = step >= totalSteps ? 1 : (step - warmupSteps) / fallSteps;
        const height = kind === 'linear' ? 1 - progress : 0.5 * (1 + Math.cos(Math.PI * progress));
        return height * (1 - floor) + floor;
    };
}
function requireCount(name, value) {
    if (!Number.isSafeInteger(value) || value < 0) {
        throw new RangeError(`${name} must be a whole number of 0 or more, not ${value}`);
    }
}
//# sourceMappingURL=schedule.js.map