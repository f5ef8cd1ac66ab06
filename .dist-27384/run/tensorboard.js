/**
 * TensorBoard's event files: TFRecord frames around protobuf messages. The four messages a run needs are short enough to
 * write by hand, which saves a protobuf library and TensorFlow's schema files.
 */
import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { maskedCrc32c } from './crc32c.js';
import { LogFile } from './log-file.js';
/** Scalars of a run, for TensorBoard. A process writes one file; TensorBoard reads a run's files in the order of their names. */
export class TensorBoardLog {
    #log;
    constructor(log) {
        this.#log = log;
    }
    /** With `purgeFrom`, TensorBoard forgets what earlier files say of that step and later ones: the run went back. */
    static async open(directory, { purgeFrom } = {}) {
        const log = new TensorBoardLog(await LogFile.open(join(directory, await fileName(directory))));
        log.#write(bytesField(3, Buffer.from('brain.Event:2')));
        if (purgeFrom !== undefined) {
            const start = Buffer.concat([tag(1, 0), varint(1)]);
            log.#write(Buffer.concat([tag(2, 0), varint(purgeFrom), bytesField(7, start)]));
        }
        return log;
    }
    scalars(step, values) {
        const summary = Object.entries(values).map(([name, value]) => Buffer.concat([scalarHead(name), float(value)]));
        this.#write(Buffer.concat([tag(2, 0), varint(step), bytesField(5, Buffer.concat(summary))]));
    }
    flush() {
        return this.#log.flush();
    }
    close() {
        return this.#log.close();
    }
    #write(fields) {
        this.#log.write(frame(Buffer.concat([tag(1, 1), double(Date.now() / 1000), fields])));
    }
}
/** `events.out.tfevents.SECONDS.HOST.PID`, after every file there is: a run resumed within a second still comes later. */
async function fileName(directory) {
    const stamps = (await readdir(directory).catch(() => [])).map(name => /^events\.out\.tfevents\.(\d+)\./.exec(name)?.[1]);
    const stamp = Math.max(Math.floor(Date.now() / 1000), ...stamps.map(one => Number(one ?? 0) + 1));
    return `events.out.tfevents.${stamp}.${hostname()}.${process.pid}`;
}
const heads = new Map();
/** What stands before a scalar's four bytes; names come again with every step. */
function scalarHead(name) {
    const known = heads.get(name);
    if (known)
        return known;
    const inner = Buffer.concat([bytesField(1, Buffer.from(name)), tag(2, 5)]);
    const head = Buffer.concat([tag(1, 2), varint(inner.length + 4), inner]);
    heads.set(name, head);
    return head;
}
/** TFRecord: length, its checksum, data, its checksum. */
function frame(data) {
    const head = Buffer.alloc(12);
    head.writeBigUInt64LE(BigInt(data.length));
    head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8);
    const foot = Buffer.alloc(4);
    foot.writeUInt32LE(maskedCrc32c(data));
    return Buffer.concat([head, data, foot]);
}
/** A protobuf field's number and how it is written: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. */
function tag(field, wire) {
    return varint(field * 8 + wire);
}
function bytesField(field, bytes) {
    return Buffer.concat([tag(field, 2), varint(bytes.length), bytes]);
}
/** A non-negative integer, seven bits a byte, the lowest first. */
function varint(value) {
    const bytes = [];
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128))
        bytes.push((rest % 128) + 128);
    return Buffer.from([...bytes, rest]);
}
function double(value) {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return bytes;
}
function float(value) {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    return bytes;
}
//# sourceMappingURL=tensorboard.js.map