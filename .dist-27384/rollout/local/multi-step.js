/** For so many tokens the sample is drawn in the same way: temperature, and what cannot be drawn, stay. */
function steady({ response, requestState: { sampling } }) {
    if (response.length === 0 && sampling.firstTemperature !== sampling.temperature)
        return 1;
    return response.length < sampling.minNewTokens ? sampling.minNewTokens - response.length : Number.POSITIVE_INFINITY;
}
/**
 * Steps for samples that have one row each; undefined where a sample wants more of the likeliest tokens than `most.top`. Tokens
 * behind the end of a response are computed for nothing, so nothing is gained beyond the longest budget.
 */
export function planMultiStep(samples, most) {
    const budgets = new Int32Array(samples.length);
    let { steps } = most;
    let longest = 1;
    for (const [i, sample] of samples.entries()) {
        if ((sample.requestState.sampling.topLogprobs ?? -1) > most.top)
            return undefined;
        budgets[i] = sample.maxNewTokens - sample.response.length;
        longest = Math.max(longest, budgets[i]);
        steps = Math.min(steps, steady(sample));
    }
    return { steps: Math.min(steps, longest), budgets };
}
/** Whether every row of a plan is the last token of a sample. */
export function decodesOnly(plan) {
    return plan.scheduled.every(({ samples, count }) => samples && count === 1);
}
/**
 * Whether the rows of a batch of next tokens are turned, stored and drawn by one position each: steps that follow one another
 * on a device count only one. Others are taken step by step.
 */
export function hasOnePosition({ ropePositions, kvPositions, samplingRows }) {
    for (let row = 0; row < samplingRows.count; row++) {
        const position = kvPositions[row];
        if (ropePositions[row] !== position || samplingRows.streams[3 * row + 2] !== position)
            return false;
    }
    return true;
}
//# sourceMappingURL=multi-step.js.map