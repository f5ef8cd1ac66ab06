/** The files of `logs/`: JSONL for programs and people, and TensorBoard's. */
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { attributed } from './append-file.js';
import { contentOf, readJsonLines } from './json-lines.js';
import { LogFile } from './log-file.js';
import { logFiles } from './paths.js';
import { TensorBoardLog } from './tensorboard.js';
export class RunLogs {
    #files;
    #tensorBoard;
    constructor(files, tensorBoard) {
        this.#files = files;
        this.#tensorBoard = tensorBoard;
    }
    static async open(directory, { rewind } = {}) {
        const open = async (name) => {
            const path = join(directory, logFiles[name]);
            // Events tell what happened to the run, its interruptions too: they stay.
            const keep = rewind && name !== 'events' ? (rewind.offsets[logFiles[name]] ?? 0) : Number.POSITIVE_INFINITY;
            await cutToLines(path, keep);
            return LogFile.open(path);
        };
        const opened = [];
        const held = (file) => {
            opened.push(file);
            return file;
        };
        try {
            const files = {
                metrics: held(await open('metrics')),
                events: held(await open('events')),
                skipped: held(await open('skipped')),
                samples: held(await open('samples')),
            };
            const purge = rewind ? { purgeFrom: await firstStepAfter(join(directory, logFiles.metrics)) } : {};
            const tensorBoard = await TensorBoardLog.open(directory, purge);
            return new RunLogs(files, tensorBoard);
        }
        catch (error) {
            await Promise.allSettled(opened.map(file => file.close()));
            throw error;
        }
    }
    metrics(step, values) {
        // JSON has no word for a number that is none; the words are those protobuf's JSON uses.
        const written = Object.entries(values).map(([name, value]) => [name, Number.isFinite(value) ? value : `${value}`]);
        this.#write('metrics', { step, time: now(), values: Object.fromEntries(written) });
        this.#tensorBoard.scalars(step, values);
    }
    event(kind, fields) {
        this.#write('events', { time: now(), kind, ...fields });
    }
    skipped(record) {
        this.#write('skipped', { time: now(), ...record });
    }
    sample(record) {
        this.#write('samples', { time: now(), ...record });
    }
    /** Bytes in each file; after `flush`, those of everything logged before it. */
    get offsets() {
        const names = Object.keys(logFiles);
        return Object.fromEntries(names.map(name => [logFiles[name], this.#files[name].size]));
    }
    async flush() {
        await allOf([...Object.values(this.#files).map(file => file.flush()), this.#tensorBoard.flush()]);
    }
    async close() {
        await allOf([...Object.values(this.#files).map(file => file.close()), this.#tensorBoard.close()]);
    }
    #write(name, line) {
        this.#files[name].write(`${JSON.stringify(line)}\n`);
    }
}
/** All of them come to their end before the first failure is thrown. */
async function allOf(works) {
    const failed = (await Promise.allSettled(works)).find(result => result.status === 'rejected');
    if (failed)
        throw failed.reason;
}
/** Cuts a file to whole lines of at most `limit` bytes together. */
async function cutToLines(path, limit) {
    const bytes = await contentOf(path);
    const size = bytes.subarray(0, Math.min(bytes.length, limit)).lastIndexOf(10) + 1;
    if (size < bytes.length)
        await attributed(path, () => truncate(path, size));
}
/** The first step of which nothing is logged, and of which TensorBoard should know nothing. */
async function firstStepAfter(path) {
    const { objects } = await readJsonLines(path);
    return objects.reduce((next, { step }) => (typeof step === 'number' ? Math.max(next, step + 1) : next), 0);
}
function now() {
    return new Date().toISOString();
}
//# sourceMappingURL=logs.js.map