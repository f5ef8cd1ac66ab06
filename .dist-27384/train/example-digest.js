import { createHash } from 'node:crypto';
const contents = {
    conversations: ({ ids, mask }) => [ids, mask],
    preferences: ({ chosen, rejected, promptLength, margin }) => [chosen, rejected, `${promptLength} ${margin}`],
    labelled: ({ ids, promptLength, desirable }) => [ids, `${promptLength} ${desirable}`],
};
/** A fingerprint of everything that a trainer sees of an example: its token ids, what of them is trained, its label. */
export function exampleDigest(kind, example) {
    const hash = createHash('sha256');
    for (const part of contents[kind](example)) {
        hash.update(`${typeof part === 'string' ? part.length : part.byteLength}:`);
        hash.update(part);
    }
    return hash.digest('hex').slice(0, 16);
}
//# sourceMappingURL=example-digest.js.map