import { hash } from 'node:crypto';
/**
 * The seed of one request to a server that draws each request's numbers from the beginning: its own for every part of a
 * response, or the rest of one would repeat the numbers of its start. 48 bits: every server takes that many.
 */
export function attemptSeed(seed, promptId, sample, offset) {
    return Number.parseInt(hash('sha256', `${seed}\0${sample}\0${offset}\0${promptId}`, 'hex').slice(0, 12), 16);
}
//# sourceMappingURL=attempt-seed.js.map