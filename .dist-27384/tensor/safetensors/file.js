import { open, stat } from 'node:fs/promises';
import { systemProblem } from '../../errors/index.js';
import { unscoped } from '../scope.js';
import { Tensor } from '../tensor.js';
import { quote, SafetensorsError } from './error.js';
import { lengthBytes, parseHeader, parseHeaderLength } from './header.js';
/** Bytes moved between two looks at the abort signal; large enough that the round trip to the thread pool does not show. */
export const chunkBytes = 4 << 20;
/**
 * One safetensors file. Opening reads and checks the header only; a tensor's bytes are read when it is asked for, straight into
 * its memory. Whatever is wrong with the file is a {@link SafetensorsError}; an aborted read throws the signal's reason.
 *
 * @example
 * const file = await SafetensorsFile.open('model.safetensors')
 * const weight = await file.read('lm_head.weight', { dtype: 'float32' })
 * await file.close()
 */
export class SafetensorsFile {
    path;
    #handle;
    #header;
    #dataStart;
    constructor(path, handle, header, dataStart) {
        this.path = path;
        this.#handle = handle;
        this.#header = header;
        this.#dataStart = dataStart;
    }
    static async open(path) {
        const handle = await openRegularFile(path);
        try {
            const { size: fileBytes } = await handle.stat();
            const prefix = await readRange(handle, new Uint8Array(Math.min(lengthBytes, fileBytes)), { path, position: 0 });
            const headerBytes = parseHeaderLength(prefix, { file: path, fileBytes });
            const header = await readRange(handle, new Uint8Array(headerBytes), { path, position: lengthBytes });
            const dataStart = lengthBytes + headerBytes;
            const parsed = parseHeader(header, { file: path, dataBytes: fileBytes - dataStart });
            return new SafetensorsFile(path, handle, parsed, dataStart);
        }
        catch (error) {
            await handle.close();
            throw error;
        }
    }
    /** The tensors' names, in the order of their bytes in the file. */
    get names() {
        return [...this.#header.entries.keys()];
    }
    /** The free text the writer left; has no prototype, so any key is safe to look up. */
    get metadata() {
        return this.#header.metadata;
    }
    has(name) {
        return this.#header.entries.has(name);
    }
    info(name) {
        const { dtype, shape, bytes } = this.#entry(name);
        return { dtype, shape, bytes };
    }
    /** A new CPU tensor with the stored values; the caller disposes it. */
    async read(name, options = {}) {
        const { dtype, shape } = this.#entry(name);
        options.signal?.throwIfAborted();
        // A scope around the call ends before the read does, so it must not own the tensor.
        const tensor = unscoped(() => Tensor.empty(shape, { dtype }));
        try {
            await this.readInto(name, tensor.bytes(), options);
            if (options.dtype === undefined || options.dtype === dtype)
                return tensor;
            const cast = tensor.cast(options.dtype);
            tensor.dispose();
            return cast;
        }
        catch (error) {
            tensor.dispose();
            throw error;
        }
    }
    /** Reads a tensor's bytes into memory the caller owns, which must have exactly {@link TensorInfo.bytes} bytes. */
    async readInto(name, target, options = {}) {
        const { dtype, start, bytes } = this.#entry(name);
        const where = { file: this.path, tensor: name };
        if (target.length !== bytes)
            throw new SafetensorsError(`takes ${bytes} bytes, not the ${target.length} given`, where);
        await readRange(this.#handle, target, {
            path: this.path,
            tensor: name,
            position: this.#dataStart + start,
            ...options,
        });
        // C++ may assume that a bool is 0 or 1; any other byte is undefined behaviour there.
        if (dtype === 'bool' && target.some(byte => byte > 1))
            throw new SafetensorsError('has a bool that is neither 0 nor 1', where);
    }
    /** Waits for the read in flight, if any; later reads fail. */
    async close() {
        await this.#handle.close();
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
    #entry(name) {
        const entry = this.#header.entries.get(name);
        if (entry === undefined)
            throw new SafetensorsError(`has no tensor ${quote(name)}`, { file: this.path });
        return entry;
    }
}
async function openRegularFile(path) {
    try {
        // Before opening: opening a named pipe would wait for a writer for ever.
        const kind = await stat(path);
        if (!kind.isFile())
            throw new Error('it is not a regular file');
        return await open(path, 'r');
    }
    catch (cause) {
        throw new SafetensorsError(`cannot be opened: ${systemProblem(cause, 'read')}`, { file: path, cause });
    }
}
/** Fills `target` from the file, a chunk at a time so that aborting takes effect and memory-sized reads stay off one thread. */
async function readRange(handle, target, { path, tensor, position, signal, onProgress }) {
    const bytesTotal = target.length;
    let bytesDone = 0;
    signal?.throwIfAborted();
    while (bytesDone < bytesTotal) {
        const wanted = Math.min(chunkBytes, bytesTotal - bytesDone);
        const { bytesRead } = await handle.read(target, bytesDone, wanted, position + bytesDone).catch(cause => {
            throw new SafetensorsError(`cannot be read: ${systemProblem(cause, 'read')}`, { file: path, tensor, cause });
        });
        if (bytesRead === 0) {
            throw new SafetensorsError('the file ended early: it was changed while open', { file: path, tensor });
        }
        bytesDone += bytesRead;
        signal?.throwIfAborted();
        onProgress?.({ bytesDone, bytesTotal });
    }
    return target;
}
//# sourceMappingURL=file.js.map