import { AppendFile } from './append-file.js';
/** How long a line may wait for others before it is written. */
const flushAfterMs = 250;
/**
 * A log that costs the caller a push to an array: lines are written together, in order, a little later. One that cannot be
 * written (a full disk) stays and is tried again with the next; `flush` is where the caller hears of it.
 */
export class LogFile {
    #file;
    #pending = [];
    #timer;
    /** The writes so far, one after another; never rejects. */
    #writing = Promise.resolve();
    #failure;
    constructor(file) {
        this.#file = file;
    }
    static async open(path) {
        return new LogFile(await AppendFile.open(path));
    }
    write(line) {
        this.#pending.push(typeof line === 'string' ? Buffer.from(line) : line);
        // Unreferenced: a process that has nothing else to do ends by `close`, not by this timer.
        this.#timer ??= setTimeout(() => this.#drain(), flushAfterMs).unref();
    }
    /** Bytes in the file; after `flush`, those of all lines. */
    get size() {
        return this.#file.size;
    }
    /** Resolves when every line is in the file and the file on the disk; rejects with a FileWriteError where one could not be written. */
    async flush() {
        this.#drain();
        const synced = this.#writing.then(async () => {
            if (this.#failure !== undefined)
                throw this.#failure;
            await this.#file.sync();
        });
        // In the queue too: the file does one thing at a time.
        this.#writing = synced.catch(() => { });
        await synced;
    }
    async close() {
        try {
            await this.flush();
        }
        finally {
            clearTimeout(this.#timer);
            await this.#file.close();
        }
    }
    #drain() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#writing = this.#writing.then(async () => {
            const lines = this.#pending;
            if (lines.length === 0)
                return;
            this.#pending = [];
            try {
                await this.#file.append(Buffer.concat(lines));
                this.#failure = undefined;
            }
            catch (error) {
                this.#pending = [...lines, ...this.#pending];
                this.#failure = error;
            }
        });
    }
}
//# sourceMappingURL=log-file.js.map