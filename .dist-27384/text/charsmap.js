/**
 * Whether a map of characters in SentencePiece's format can be walked without leaving it: the length of a double-array trie in
 * bytes (32 bits, little-endian), the trie, and the replacements it points into, each ended by a zero byte.
 */
export function isSoundCharsmap(base64) {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length < 8)
        return false;
    const size = bytes.readUInt32LE(0);
    if (size === 0 || size % 4 !== 0 || 4 + size > bytes.length)
        return false;
    const replacements = bytes.subarray(4 + size);
    try {
        new TextDecoder('utf-8', { fatal: true }).decode(replacements);
    }
    catch {
        return false;
    }
    const units = new Uint32Array(size / 4);
    for (let i = 0; i < units.length; i++)
        units[i] = bytes.readUInt32LE(4 + 4 * i);
    return walksInside(units, replacements);
}
const hasLeaf = (unit) => ((unit >>> 8) & 1) === 1;
const label = (unit) => (unit & 0x800000ff) >>> 0;
const offset = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
const value = (unit) => unit & 0x7fffffff;
/** Every node that some text leads to, and every child that some byte could ask for. */
function walksInside(units, replacements) {
    const seen = new Uint8Array(units.length);
    const pending = [offset(units[0]) >>> 0];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        for (let byte = 1; byte < 256; byte++) {
            const at = (next ^ byte) >>> 0;
            if (at >= units.length)
                return false;
            const unit = units[at];
            if (label(unit) !== byte || seen[at])
                continue;
            seen[at] = 1;
            const place = (at ^ offset(unit)) >>> 0;
            if (place >= units.length)
                return false;
            if (hasLeaf(unit)) {
                const start = value(units[place]);
                if (start >= replacements.length || (replacements[start] & 0xc0) === 0x80)
                    return false;
            }
            pending.push(place);
        }
    }
    return true;
}
//# sourceMappingURL=charsmap.js.map