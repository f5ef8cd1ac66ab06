/**
 * Orders that take no memory: a keyed permutation of 0..size-1 that can be asked for any place. A Feistel network permutes the
 * next power of four; numbers that fall outside are sent through again until they fall inside, which keeps it a permutation.
 */
import { createHash } from 'node:crypto';
const rounds = 6;
export class Permutation {
    size;
    #keys;
    #halfBits;
    #mask;
    /** The same for the same size and key. */
    constructor(size, key) {
        this.size = size;
        const digest = createHash('sha256').update(key).digest();
        this.#keys = Uint32Array.from({ length: rounds }, (_, i) => digest.readUInt32LE(4 * i));
        let halfBits = 1;
        while (4 ** halfBits < size)
            halfBits++;
        this.#halfBits = halfBits;
        this.#mask = 2 ** halfBits - 1;
    }
    at(place) {
        let value = place;
        do
            value = this.#permute(value);
        while (value >= this.size);
        return value;
    }
    #permute(value) {
        let left = Math.floor(value / 2 ** this.#halfBits);
        let right = value % 2 ** this.#halfBits;
        for (let i = 0; i < rounds; i++) {
            const next = (left ^ mix(right ^ this.#keys[i])) & this.#mask;
            left = right;
            right = next;
        }
        return left * 2 ** this.#halfBits + right;
    }
}
/** MurmurHash3's last step. */
function mix(value) {
    let h = value;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return h ^ (h >>> 16);
}
//# sourceMappingURL=shuffle.js.map