/** How far two implementations of the same weights may differ. Pure. */
const bfloat16Error = 2 ** -8;
/** Largest relative rounding error by dtype; 0 where `float32Limit` covers it. */
const roundingErrors = {
    float32: 0,
    float: 0,
    float16: 2 ** -11,
    half: 2 ** -11,
    bfloat16: bfloat16Error,
};
/** Quantizations have many names (fp8, awq, int8). */
const eightBitError = 2 ** -4;
/** Servers in float32 differ by about 1e-5. A difference above this limit is not rounding. */
export const float32Limit = 1e-3;
/** A real model of 30 layers differs by 4 (bfloat16) to 5 (float16) roundings between two implementations. */
const roundings = 8;
/** A server whose own noise is larger may differ by more, up to this many. More noise is a fault of the server. */
const mostRoundings = 32;
/**
 * The largest mean difference of log-probabilities that rounding explains. It grows with the spread of the log-probabilities: where
 * all tokens are about equally likely, logits are small and so are their rounding errors, while other weights differ by as much as
 * the spread itself.
 */
export function explainedDifference(dtype, logprobs) {
    return Math.max(float32Limit, roundings * (roundingErrors[dtype] ?? eightBitError) * spreadOf(logprobs));
}
/** What the noise of a server explains: its difference to itself where the same text is computed in another shape. */
export function explainedByNoise(noise, logprobs) {
    return Math.min(roundings * noise, mostRoundings * bfloat16Error * spreadOf(logprobs));
}
/** The mean absolute difference of rows of the same length. */
export function meanDifference(a, b) {
    return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / Math.max(1, a.length);
}
function spreadOf(logprobs) {
    const mean = logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length);
    return logprobs.reduce((sum, value) => sum + Math.abs(value - mean), 0) / Math.max(1, logprobs.length);
}
//# sourceMappingURL=proof-limit.js.map