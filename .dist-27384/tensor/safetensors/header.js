import { dtypeBytes } from '../dtype.js';
import { quote, SafetensorsError } from './error.js';
import { hasLoneSurrogate, parseStrictJson } from './strict-json.js';
/**
 * The format: 8 bytes with the header's length (little-endian), the header (a JSON object, padded with spaces), the data.
 * Offsets in the header count from the start of the data; the tensors must tile the data without gap or overlap.
 */
export const lengthBytes = 8;
/** The limit of the reference implementation: real headers are well below 1 MB. */
export const maxHeaderBytes = 100_000_000;
const metadataKey = '__metadata__';
/**
 * In the order the reference implementation writes them: widest elements first, so that every tensor is aligned to its own
 * element size when the file is mapped into memory.
 */
const formatNames = [
    ['I64', 'int64'],
    ['F64', 'float64'],
    ['F32', 'float32'],
    ['I32', 'int32'],
    ['BF16', 'bfloat16'],
    ['F16', 'float16'],
    ['I16', 'int16'],
    ['I8', 'int8'],
    ['U8', 'uint8'],
    ['BOOL', 'bool'],
];
const dtypeOfFormatName = new Map(formatNames);
const rankOfDType = new Map(formatNames.map(([, dtype], rank) => [dtype, rank]));
const formatNameOfDType = new Map(formatNames.map(([name, dtype]) => [dtype, name]));
/** The header's length, from the first 8 bytes of a file of `fileBytes` bytes. */
export function parseHeaderLength(prefix, { file, fileBytes }) {
    if (fileBytes < lengthBytes || prefix.length < lengthBytes) {
        throw new SafetensorsError(`has ${fileBytes} bytes, too few to be a safetensors file (truncated download?)`, {
            file,
        });
    }
    const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
    if (length > BigInt(maxHeaderBytes)) {
        throw new SafetensorsError(`claims a header of ${length} bytes, more than the format's ${maxHeaderBytes}: not a safetensors file`, { file });
    }
    if (length > BigInt(fileBytes - lengthBytes)) {
        throw new SafetensorsError(`claims a header of ${length} bytes but has only ${fileBytes - lengthBytes} after the length (truncated download?)`, { file });
    }
    return Number(length);
}
/** Reads and checks a header; `dataBytes` is what the file has after it. Everything it returns is safe to rely on. */
export function parseHeader(bytes, { file, dataBytes }) {
    if (bytes[0] !== 0x7b)
        throw new SafetensorsError('the header does not begin with "{"', { file });
    let json;
    try {
        json = parseStrictJson(bytes);
    }
    catch (cause) {
        throw new SafetensorsError(`the header ${cause.message}`, { file, cause });
    }
    if (!isObject(json))
        throw new SafetensorsError('the header is not a JSON object', { file });
    let metadata = Object.create(null);
    const entries = [];
    for (const [name, value] of Object.entries(json)) {
        if (name === metadataKey)
            metadata = parseMetadata(value, file);
        else
            entries.push([name, parseEntry(value, { file, tensor: name })]);
    }
    entries.sort(([, a], [, b]) => a.start - b.start || a.bytes - b.bytes);
    requireTiling(entries, { file, dataBytes });
    return { entries: new Map(entries), metadata };
}
function parseMetadata(value, file) {
    if (!isObject(value))
        throw new SafetensorsError(`${metadataKey} is not an object`, { file });
    // Without a prototype, so that a key such as "__proto__" is only a key.
    const metadata = Object.create(null);
    for (const [key, text] of Object.entries(value)) {
        if (typeof text !== 'string')
            throw new SafetensorsError(`${metadataKey} has a ${quote(key)} that is not a string`, { file });
        metadata[key] = text;
    }
    return metadata;
}
function parseEntry(value, where) {
    if (!isObject(value))
        throw new SafetensorsError('its entry in the header is not an object', where);
    const dtype = typeof value.dtype === 'string' ? dtypeOfFormatName.get(value.dtype) : undefined;
    if (dtype === undefined) {
        const known = formatNames.map(([name]) => name).join(', ');
        throw new SafetensorsError(`dtype ${quote(value.dtype)} is not supported (supported: ${known})`, where);
    }
    const { shape, data_offsets: offsets } = value;
    if (!Array.isArray(shape) || !shape.every(isCount)) {
        throw new SafetensorsError(`shape ${quote(shape)} is not a list of whole numbers of 0 or more`, where);
    }
    const bytes = countBytes(shape, dtype);
    if (bytes === undefined)
        throw new SafetensorsError(`shape ${quote(shape)} has too many elements`, where);
    if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
        throw new SafetensorsError(`data_offsets ${quote(offsets)} is not a pair of whole numbers of 0 or more`, where);
    }
    const [start, end] = offsets;
    if (end - start !== bytes) {
        throw new SafetensorsError(`shape ${quote(shape)} of ${value.dtype} takes ${bytes} bytes, but data_offsets ${quote(offsets)} spans ${end - start}`, where);
    }
    return { dtype, shape, bytes, start };
}
function countBytes(shape, dtype) {
    let bytes = dtypeBytes(dtype);
    for (const size of shape) {
        bytes *= size;
        // Past 2^53 the product is no longer exact; as in the reference implementation, a later 0 does not excuse it.
        if (!Number.isSafeInteger(bytes))
            return undefined;
    }
    return bytes;
}
function requireTiling(entries, { file, dataBytes }) {
    let covered = 0;
    for (const [tensor, { start, bytes }] of entries) {
        const end = start + bytes;
        if (end > dataBytes) {
            throw new SafetensorsError(`its bytes end at ${end}, but the file holds ${dataBytes} bytes of data (truncated download?)`, { file, tensor });
        }
        if (start < covered)
            throw new SafetensorsError(`its bytes ${start}..${end} overlap those of another tensor`, { file, tensor });
        if (start > covered)
            throw new SafetensorsError(`bytes ${covered}..${start} before it belong to no tensor`, { file, tensor });
        covered = end;
    }
    if (covered !== dataBytes) {
        throw new SafetensorsError(`the last ${dataBytes - covered} of ${dataBytes} bytes of data belong to no tensor`, {
            file,
        });
    }
}
/** Lays out a file exactly as the reference implementation does, which orders tensors by dtype and then by name. */
export function layOut(tensors, { file, metadata }) {
    const order = [...tensors].map(([name, tensor]) => ({
        name,
        tensor,
        rank: rankOfDType.get(tensor.dtype),
        bytes: countBytes(tensor.shape, tensor.dtype),
        // Names sort by their UTF-8 bytes; JavaScript would sort them by UTF-16 units.
        sortKey: Buffer.from(name),
    }));
    order.sort((a, b) => a.rank - b.rank || Buffer.compare(a.sortKey, b.sortKey));
    const fields = [];
    if (metadata !== undefined) {
        requireWritableMetadata(metadata, file);
        fields.push(`${JSON.stringify(metadataKey)}:${JSON.stringify(metadata)}`);
    }
    let end = 0;
    for (const { name, tensor, bytes } of order) {
        if (name === metadataKey || hasLoneSurrogate(name)) {
            throw new SafetensorsError('a tensor cannot have this name in a safetensors file', { file, tensor: name });
        }
        const start = end;
        end += bytes;
        const entry = { dtype: formatNameOfDType.get(tensor.dtype), shape: tensor.shape, data_offsets: [start, end] };
        // Field by field: as keys of one object, names such as "7" would move to the front.
        fields.push(`${JSON.stringify(name)}:${JSON.stringify(entry)}`);
    }
    return { head: encodeHead(`{${fields.join(',')}}`, file), order, dataBytes: end };
}
function encodeHead(json, file) {
    const text = new TextEncoder().encode(json);
    const padded = Math.ceil(text.length / 8) * 8;
    if (padded > maxHeaderBytes) {
        throw new SafetensorsError(`its header would have ${padded} bytes, more than the format's ${maxHeaderBytes}`, {
            file,
        });
    }
    const head = new Uint8Array(lengthBytes + padded).fill(0x20);
    new DataView(head.buffer).setBigUint64(0, BigInt(padded), true);
    head.set(text, lengthBytes);
    return head;
}
function requireWritableMetadata(metadata, file) {
    for (const [key, text] of Object.entries(metadata)) {
        if (typeof text !== 'string' || hasLoneSurrogate(key) || hasLoneSurrogate(text)) {
            throw new SafetensorsError(`metadata ${quote(key)} is not text`, { file });
        }
    }
}
export function isObject(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function isCount(value) {
    return Number.isSafeInteger(value) && !Object.is(value, -0) && value >= 0;
}
//# sourceMappingURL=header.js.map