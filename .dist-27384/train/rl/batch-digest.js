/** Fingerprints of what a sample brings to training: of the numbers the journal holds, and of those derived from them. */
import { createHash } from 'node:crypto';
export function sampleDigest(one) {
    const { promptIds, responseIds, logprobs, refLogprobs, values, entropy, engineLogprobs, policyVersion } = one;
    const engine = [engineLogprobs.raw, engineLogprobs.processed];
    const numbers = Float64Array.of(one.reward, policyVersion, one.temperature);
    return {
        given: digest([promptIds, responseIds, logprobs, refLogprobs, values, entropy, ...engine, numbers]),
        derived: digest([one.advantages, one.returns, one.lossMask, one.kl, Float64Array.of(one.shapedReward)]),
    };
}
/** Lengths are part of it, so that a number cannot move from one array to the next. */
function digest(arrays) {
    const hash = createHash('sha256');
    for (const array of arrays) {
        hash.update(`${array?.byteLength ?? -1};`);
        if (array)
            hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    }
    return hash.digest('hex').slice(0, 16);
}
//# sourceMappingURL=batch-digest.js.map