import { noGrad, record, Tensor, unscoped } from '../../tensor/index.js';
import { blockSize } from './blocks.js';
import { kvBlocks } from './kv-budget.js';
export class KvCache {
    config;
    options;
    /** `[layers * 2, blocks, kvHeads, 16 * headDim]`: keys and values of a layer follow each other. */
    memory;
    /** Holds the memory it was recorded with. */
    copies;
    constructor(config, options) {
        this.config = config;
        this.options = options;
    }
    /** 0 while it is released. */
    get blocks() {
        return this.memory?.shape[1] ?? 0;
    }
    allocate(cacheBytes) {
        const { layers, kvHeads, headDim } = this.config;
        const { dtype, device } = this.options;
        const blocks = kvBlocks(this.config, { ...this.options, cacheBytes });
        this.memory ??= unscoped(() => Tensor.empty([layers * 2, blocks, kvHeads, blockSize * headDim], { dtype, device }));
    }
    /** A view of each layer's keys and values, `[2, blocks, kvHeads, 16 * headDim]`. The caller disposes them. */
    layerViews() {
        const { memory } = this;
        if (!memory)
            throw new Error('the KV cache is released; wake the engine first');
        return Array.from({ length: this.config.layers }, (_, i) => unscoped(() => memory.narrow(0, 2 * i, 2)));
    }
    /** Copies a batch's blocks, on the current stream. */
    async copyBlocks({ copyFrom, copyTo }) {
        if (copyFrom.length === 0)
            return;
        const memory = this.memory;
        this.copies ??= record(['tensor', 'tensor'], (...inputs) => {
            const [from, to] = inputs;
            noGrad(() => memory.indexCopy_(1, to.toCopy({ dtype: 'int64' }), memory.indexSelect(1, from)));
            return [];
        });
        const { device } = this.options;
        const pair = [copyFrom, copyTo].map(blocks => unscoped(() => Tensor.from(blocks, { device })));
        try {
            await this.copies.run(...pair);
        }
        finally {
            for (const tensor of pair)
                tensor.dispose();
        }
    }
    release() {
        this.copies?.dispose();
        this.copies = undefined;
        this.memory?.dispose();
        this.memory = undefined;
    }
}
//# sourceMappingURL=kv-cache.js.map