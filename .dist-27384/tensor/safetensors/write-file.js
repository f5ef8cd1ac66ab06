import { writeFileAtomic } from '../../files/index.js';
import { SafetensorsError } from './error.js';
import { chunkBytes } from './file.js';
import { layOut } from './header.js';
/**
 * Writes one file, atomically: until the promise resolves, whatever was at `path` before stays there.
 * The bytes are those the reference implementation would write. Tensors on another device or not contiguous are copied one at a
 * time; tensors that share memory are each written in full, and come back as separate tensors.
 *
 * @example
 * await writeSafetensors('adapter.safetensors', { 'lora.a': a, 'lora.b': b }, { metadata: { format: 'pt' } })
 */
export async function writeSafetensors(path, tensors, options = {}) {
    const { metadata, signal, onProgress, materialize } = options;
    const { head, order, dataBytes } = layOut(entriesOf(tensors), { file: path, metadata });
    await writeFileAtomic(path, async (file) => {
        let position = await writeAll(file, head, { position: 0, signal });
        for (const { name, tensor, bytes } of order) {
            const made = await materialize?.(name, tensor);
            await withCpuBytes(made ?? tensor, async (memory) => {
                if (memory.length !== bytes) {
                    throw new SafetensorsError(`has ${memory.length} bytes in memory but its shape says ${bytes}`, {
                        file: path,
                        tensor: name,
                    });
                }
                const report = (at) => onProgress?.({ bytesDone: at - head.length, bytesTotal: dataBytes });
                position = await writeAll(file, memory, { position, signal, report });
            }).finally(() => made?.dispose());
        }
    });
}
export function entriesOf(tensors) {
    return isMap(tensors) ? tensors : Object.entries(tensors);
}
/** `instanceof Map` does not narrow a `ReadonlyMap`. */
function isMap(tensors) {
    return tensors instanceof Map;
}
/** Lends the tensor's bytes in CPU memory, through copies where it must, which are gone when `use` has settled. */
async function withCpuBytes(tensor, use) {
    const onCpu = tensor.device === 'cpu' ? tensor : tensor.to('cpu');
    const contiguous = onCpu.contiguous();
    try {
        await use(contiguous.bytes());
    }
    finally {
        if (contiguous !== onCpu)
            contiguous.dispose();
        if (onCpu !== tensor)
            onCpu.dispose();
    }
}
/** Writes all bytes at `position`, a chunk at a time so that aborting takes effect; returns the position after them. */
async function writeAll(file, bytes, options) {
    let done = 0;
    options.signal?.throwIfAborted();
    while (done < bytes.length) {
        const { bytesWritten } = await file.write(bytes, done, Math.min(chunkBytes, bytes.length - done), options.position + done);
        done += bytesWritten;
        options.signal?.throwIfAborted();
        options.report?.(options.position + done);
    }
    return options.position + done;
}
//# sourceMappingURL=write-file.js.map