/** How much memory the KV cache takes: decided when it is taken, from what is free then. */
import { freemem } from 'node:os';
import { cudaDevice, dtypeBytes, memoryUse } from '../../tensor/index.js';
import { blockSize, blocksOfSequence } from './blocks.js';
/** The device as libtorch's allocator sees it. What it keeps for later use is free: it gives it back when it has to. */
export const deviceMemory = {
    freeBytes: device => {
        if (device === 'cpu')
            return freemem();
        return Math.max(0, (cudaDevice(device)?.totalBytes ?? 0) - memoryUse(device).bytes);
    },
};
/** The one of two options that was given. */
export function kvBudget(options, fallback) {
    const { cacheBytes, cacheShare } = options;
    if (cacheBytes !== undefined && cacheShare !== undefined)
        throw new RangeError('cacheBytes and cacheShare both say how large the KV cache is; give one of them');
    if (cacheBytes !== undefined) {
        if (!(cacheBytes > 0 && cacheBytes < Number.POSITIVE_INFINITY))
            throw new RangeError(`cacheBytes should be a number of bytes, got ${cacheBytes}`);
        return { cacheBytes };
    }
    if (cacheShare === undefined)
        return fallback;
    if (!(cacheShare > 0 && cacheShare <= 1))
        throw new RangeError(`cacheShare should be above 0 and at most 1, got ${cacheShare}`);
    return { cacheShare };
}
export function budgetBytes(budget, memory, device) {
    if ('cacheBytes' in budget)
        return budget.cacheBytes;
    return Math.floor(budget.cacheShare * memory.freeBytes(device));
}
/** How many blocks a KV cache of so many bytes has; more than the sequences can fill are not taken. */
export function kvBlocks({ layers, kvHeads, headDim }, options) {
    const { cacheBytes, dtype, maxSequences, maxLength } = options;
    const bytes = layers * 2 * kvHeads * headDim * blockSize * dtypeBytes(dtype);
    const blocks = Math.min(Math.floor(cacheBytes / bytes), maxSequences * blocksOfSequence(maxLength));
    if (blocks < 2)
        throw new RangeError(`a KV cache of ${cacheBytes} bytes has no room: a block takes ${bytes}`);
    return blocks;
}
//# sourceMappingURL=kv-budget.js.map