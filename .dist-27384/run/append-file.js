import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isSystemError } from '../errors/index.js';
import { FileWriteError } from '../files/index.js';
/**
 * A file that only grows, by whole pieces: a piece that could not be written completely is not there. A full disk may take
 * half of one; that half is cut off before anything else is written, so that what follows never continues a torn line.
 *
 * Calls must not overlap; whoever owns the file queues them.
 */
export class AppendFile {
    path;
    #handle;
    #size;
    /** Whether there may be bytes beyond `#size`. */
    #torn = false;
    constructor(path, handle, size) {
        this.path = path;
        this.#handle = handle;
        this.#size = size;
    }
    /** Opens or makes the file. What lies beyond `size` bytes is cut off; all is kept where it is not given. */
    static async open(path, { size } = {}) {
        return attributed(path, async () => {
            const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644);
            try {
                const found = (await handle.stat()).size;
                const file = new AppendFile(path, handle, Math.min(found, size ?? found));
                if (file.#size < found)
                    await handle.truncate(file.#size);
                return file;
            }
            catch (error) {
                await handle.close();
                throw error;
            }
        });
    }
    /** Bytes of whole pieces. */
    get size() {
        return this.#size;
    }
    /** Adds a piece. A {@link FileWriteError} says that nothing of it counts; a later call may succeed. */
    async append(bytes) {
        await this.#append(bytes, { durable: false });
    }
    /** As `append`, and it is on the disk when the promise resolves. */
    async appendDurably(bytes) {
        await this.#append(bytes, { durable: true });
    }
    async #append(bytes, { durable }) {
        await attributed(this.path, async () => {
            await this.repair();
            this.#torn = true;
            try {
                for (let at = 0; at < bytes.length;) {
                    const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#size + at);
                    at += bytesWritten;
                }
                // After a failed sync the kernel may have dropped the pages while reads still show them: the piece does not count.
                if (durable)
                    await this.#handle.datasync();
            }
            catch (error) {
                // Tried at once, so that readers do not meet the torn piece, and again before the next one where it fails.
                await this.repair().catch(() => { });
                throw error;
            }
            this.#size += bytes.length;
            this.#torn = false;
        });
    }
    /** Cuts off what a failed append left. */
    async repair() {
        if (!this.#torn)
            return;
        await attributed(this.path, () => this.#handle.truncate(this.#size));
        this.#torn = false;
    }
    async sync() {
        await attributed(this.path, async () => {
            await this.repair();
            await this.#handle.datasync();
        });
    }
    async close() {
        await this.#handle.close();
    }
}
/** Errors of the file system, with the name of the file and what to do. */
export async function attributed(path, work) {
    try {
        return await work();
    }
    catch (error) {
        throw isSystemError(error) ? new FileWriteError(path, error) : error;
    }
}
//# sourceMappingURL=append-file.js.map