/** Numbers and texts as the Open Inference Protocol writes them: raw bytes (little-endian) or typed lists. */
import { SourceError } from '../errors.js';
/** Texts as raw bytes: each with its length, in 4 bytes, before it. */
export function rawTexts(texts) {
    return Buffer.concat(texts.flatMap(text => {
        const bytes = Buffer.from(text, 'utf8');
        const length = Buffer.alloc(4);
        length.writeUInt32LE(bytes.length);
        return [length, bytes];
    }));
}
export function rawInt64(numbers) {
    const bytes = Buffer.alloc(numbers.length * 8);
    for (let i = 0; i < numbers.length; i++)
        bytes.writeBigInt64LE(BigInt(numbers[i]), i * 8);
    return bytes;
}
const rawTypes = {
    FP64: { size: 8, read: (view, at) => view.getFloat64(at, true) },
    FP32: { size: 4, read: (view, at) => view.getFloat32(at, true) },
    FP16: { size: 2, read: (view, at) => halfToNumber(view.getUint16(at, true)) },
    BF16: { size: 2, read: (view, at) => bfloatToNumber(view.getUint16(at, true)) },
    INT8: { size: 1, read: (view, at) => view.getInt8(at) },
    INT16: { size: 2, read: (view, at) => view.getInt16(at, true) },
    INT32: { size: 4, read: (view, at) => view.getInt32(at, true) },
    INT64: { size: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
    UINT8: { size: 1, read: (view, at) => view.getUint8(at) },
    UINT16: { size: 2, read: (view, at) => view.getUint16(at, true) },
    UINT32: { size: 4, read: (view, at) => view.getUint32(at, true) },
    UINT64: { size: 8, read: (view, at) => Number(view.getBigUint64(at, true)) },
};
/** Where typed contents of a datatype are; 16-bit floats have no typed form. */
const typedField = {
    FP64: 'fp64_contents',
    FP32: 'fp32_contents',
    INT8: 'int_contents',
    INT16: 'int_contents',
    INT32: 'int_contents',
    INT64: 'int64_contents',
    UINT8: 'uint_contents',
    UINT16: 'uint_contents',
    UINT32: 'uint_contents',
    UINT64: 'uint64_contents',
};
/** A tensor's numbers, from its raw bytes where there are some. */
export function readNumbers(tensor, raw) {
    const { name, datatype } = tensor;
    if (!rawTypes[datatype])
        throw new SourceError('protocol', `output ${name}: ${datatype || 'no datatype'} where numbers are expected`);
    if (raw)
        return readRaw(name, datatype, raw);
    const field = typedField[datatype];
    const values = field && tensor.contents?.[field];
    if (!values || values.length === 0)
        throw new SourceError('protocol', `output ${name}: neither raw nor typed ${datatype} contents in the answer`);
    return values.map(Number);
}
function readRaw(name, datatype, raw) {
    const { size, read } = rawTypes[datatype];
    if (raw.byteLength % size !== 0)
        throw new SourceError('protocol', `output ${name}: ${raw.byteLength} bytes are no whole number of ${datatype}`);
    const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
    return Array.from({ length: raw.byteLength / size }, (_, i) => read(view, i * size));
}
function halfToNumber(bits) {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31)
        return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    if (exponent === 0)
        return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
function bfloatToNumber(bits) {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, bits << 16);
    return view.getFloat32(0);
}
//# sourceMappingURL=tensor-contents.js.map