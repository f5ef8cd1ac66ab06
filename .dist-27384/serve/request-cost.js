/** What a request may come to hold, computed before anything of it runs. Pure. */
/** Bytes, measured on Node 20 and rounded up. */
const perSample = 4096;
const perToken = 64;
/** A token's place for log-probabilities: the object and its two lists. */
const perPosition = 400;
/** A log-probability as it is written: `"151643":{"logprob":-12.345678901,"rank":20,"decoded_token":" word"},`. */
const perLogprob = 80;
export function requestCost({ promptLengths, n, maxLength, maxTokens = maxLength, logprobs, promptLogprobs, }) {
    const cost = { samples: 0, positions: 0, logprobs: 0, bytes: 0 };
    for (const length of promptLengths) {
        const response = Math.max(0, Math.min(maxTokens, maxLength - length));
        const told = (logprobs === undefined ? 0 : response * (logprobs + 1)) +
            (promptLogprobs === undefined ? 0 : length * (promptLogprobs + 1));
        const positions = (logprobs === undefined ? 0 : response) + (promptLogprobs === undefined ? 0 : length);
        cost.samples += n;
        cost.positions += n * positions;
        cost.logprobs += n * told;
        cost.bytes += n * (perSample + perToken * (length + response) + perPosition * positions + perLogprob * told);
    }
    return cost;
}
/** For a message: which numbers made it what it is. */
export const describeCost = ({ samples, positions, logprobs, bytes }) => `${megabytes(bytes)} (${samples} choices, log-probabilities of ${positions} tokens, ${logprobs} with alternatives)`;
export const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
//# sourceMappingURL=request-cost.js.map