/**
 * JSON that loses nothing a training run cares about. Typed arrays keep their kind and every bit, and numbers JSON has no
 * word for (`NaN`, the infinities, negative zero) come back as they were. Each is an object with one `$` key:
 *
 *   {"$float32": "AACAPw=="}   base64, little endian
 *   {"$number": "-Infinity"}
 *
 * A key of the data that itself starts with `$` gets a second one, so that nothing can be mistaken.
 */
import { endianness } from 'node:os';
const arrayKinds = {
    int8: Int8Array,
    uint8: Uint8Array,
    int16: Int16Array,
    uint16: Uint16Array,
    int32: Int32Array,
    uint32: Uint32Array,
    float32: Float32Array,
    float64: Float64Array,
    int64: BigInt64Array,
    uint64: BigUint64Array,
};
/** @example exactStringify({ rewards: Float32Array.of(1), best: -Infinity }) */
export function exactStringify(value) {
    return JSON.stringify(toJson(value));
}
export function exactParse(text) {
    return fromJson(JSON.parse(text));
}
/** The value with its typed arrays and unusual numbers in words of JSON. */
export function toJson(value) {
    if (typeof value === 'number')
        return Number.isFinite(value) && !Object.is(value, -0)
            ? value
            : { $number: Object.is(value, -0) ? '-0' : `${value}` };
    if (value === null || typeof value !== 'object')
        return value;
    if (Array.isArray(value))
        return value.map(toJson);
    if (ArrayBuffer.isView(value))
        return { [`$${kindOf(value)}`]: base64(value) };
    // fromEntries defines each key: one called __proto__ is a key like any other.
    return Object.fromEntries(Object.entries(value)
        .filter((entry) => entry[1] !== undefined)
        .map(([key, field]) => [key.startsWith('$') ? `$${key}` : key, toJson(field)]));
}
export function fromJson(value) {
    if (value === null || typeof value !== 'object')
        return value;
    if (Array.isArray(value))
        return value.map(fromJson);
    const entries = Object.entries(value);
    const [key, word] = entries[0] ?? [];
    if (entries.length === 1 && key?.startsWith('$') && !key.startsWith('$$') && typeof word === 'string')
        return key === '$number' ? Number(word) : typedArray(key.slice(1), word);
    return Object.fromEntries(entries.map(([name, field]) => [name.startsWith('$$') ? name.slice(1) : name, fromJson(field)]));
}
function kindOf(array) {
    for (const [kind, type] of Object.entries(arrayKinds))
        if (array instanceof type)
            return kind;
    throw new TypeError(`expected one of the arrays ${Object.keys(arrayKinds).join(', ')}, got ${Object.prototype.toString.call(array)}`);
}
function base64(array) {
    return littleEndian(Buffer.from(array.buffer, array.byteOffset, array.byteLength), array.BYTES_PER_ELEMENT).toString('base64');
}
function typedArray(kind, text) {
    if (!Object.hasOwn(arrayKinds, kind))
        throw new TypeError(`there is no array of ${kind}`);
    const type = arrayKinds[kind];
    // A buffer of its own: Node's small buffers share one, at places where an array of wider elements may not begin.
    const bytes = new Uint8Array(Buffer.from(text, 'base64'));
    littleEndian(Buffer.from(bytes.buffer), type.BYTES_PER_ELEMENT).copy(bytes);
    return new type(bytes.buffer);
}
/** The bytes as they are on most machines; on the others, with each element turned round. */
function littleEndian(bytes, width) {
    if (endianness() === 'LE' || width === 1)
        return bytes;
    const turned = Buffer.from(bytes);
    return width === 2 ? turned.swap16() : width === 4 ? turned.swap32() : turned.swap64();
}
//# sourceMappingURL=exact-json.js.map