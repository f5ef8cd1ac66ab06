/** Engine steps on the CPU: a recorded program over operators of our own (`native/{linear,attention,sampling}.cc`). */
import { composeLayerOps, headWeight, joinColumns, LayerRopeTables, runLayers, } from '../../decoder/index.js';
import { noGrad, record, scope, Tensor, unscoped } from '../../tensor/index.js';
import { cpuOps } from './cpu-ops.js';
import { KvCache } from './kv-cache.js';
import { Programs } from './programs.js';
/** Rows, one-dimensional: ids, rope and KV positions, sequences, slotMapping; the table; then what sampling takes. */
const rowInputs = 6;
const samplingInputs = 6;
export class CpuStep {
    parts;
    options;
    tables;
    cache;
    programs = new Programs();
    constructor(parts, options) {
        this.parts = parts;
        this.options = options;
        this.tables = new LayerRopeTables(parts.config, options.maxLength, 'cpu');
        this.cache = new KvCache(parts.config, { ...options, device: 'cpu' });
    }
    get blocks() {
        return this.cache.blocks;
    }
    allocate(cacheBytes) {
        this.cache.allocate(cacheBytes);
    }
    release() {
        // Programs hold the cache they were recorded with.
        this.programs.dispose();
        this.cache.release();
    }
    dispose() {
        this.release();
        this.tables.dispose();
    }
    async step(batch) {
        const { samplingRows } = batch;
        const made = [];
        const upload = (array, shape) => {
            const tensor = unscoped(() => Tensor.from(array, { shape }));
            made.push(tensor);
            return tensor;
        };
        try {
            const flat = (array) => upload(array, [array.length]);
            const inputs = [
                ...[batch.ids, batch.ropePositions, batch.kvPositions, batch.sequences, batch.slotMapping].map(flat),
                upload(batch.blockTable, [batch.blockTable.length / batch.blockTableWidth, batch.blockTableWidth]),
            ];
            if (samplingRows.count > 0)
                inputs.push(flat(samplingRows.rows), upload(samplingRows.settings, [samplingRows.count, 4]), ...[
                    samplingRows.streams,
                    samplingRows.targetIds,
                    samplingRows.forbiddenOffsets,
                    samplingRows.forbiddenIds,
                ].map(flat));
            await this.cache.copyBlocks(batch);
            // A program without outputs answers with nothing.
            const outputs = (await this.program(samplingRows.count > 0).run(...inputs, samplingRows.top)) ?? [];
            made.push(...outputs);
            return read(outputs);
        }
        finally {
            for (const tensor of made)
                tensor.dispose();
        }
    }
    program(drawing) {
        return this.programs.get(`${drawing}`, () => this.record(drawing));
    }
    record(drawing) {
        const { parts, cache, tables } = this;
        const scale = 1 / Math.sqrt(parts.config.headDim);
        // Outside the recording, so that a layer's view is made once.
        const layers = cache.layerViews();
        const kinds = [
            ...Array.from({ length: rowInputs + (drawing ? samplingInputs : 0) }, () => 'tensor'),
            'number',
        ];
        try {
            return record(kinds, (...inputs) => {
                const [ids, ropePositions, kvPositions, sequences, slotMapping, blockTable, wanted, ...sampling] = inputs.slice(0, -1);
                const store = (qkv, layer) => cpuOps.rotateStore(joinColumns(qkv), tables.of(layer), {
                    ...{ positions: ropePositions, slotMapping, cache: layers[layer] },
                });
                const ops = {
                    ...cpuOps,
                    store,
                    attend: (qkv, layer) => cpuOps.pagedAttention(store(qkv, layer), {
                        ...{ cache: layers[layer], blockTable, sequences, positions: kvPositions, scale },
                    }),
                };
                return noGrad(() => {
                    const hidden = runLayers(parts, composeLayerOps(parts.config, ops), ids, wanted ?? 'none');
                    if (!hidden)
                        return [];
                    let logits = cpuOps.linear(hidden, headWeight(parts), null);
                    if (this.options.dtype !== 'float32')
                        logits = logits.toCopy({ dtype: 'float32' });
                    const [settings, streams, targetIds, forbiddenOffsets, forbiddenIds] = sampling;
                    const rows = { settings, streams, targetIds, forbiddenOffsets, forbiddenIds };
                    return cpuOps.sample(logits, rows, inputs.at(-1));
                });
            });
        }
        finally {
            for (const layer of layers)
                layer.dispose();
        }
    }
}
const nothing = {
    ids: new Int32Array(0),
    raw: new Float32Array(0),
    processed: new Float32Array(0),
    topIds: new Int32Array(0),
    topLogprobs: new Float32Array(0),
};
function read(outputs) {
    if (outputs.length === 0)
        return nothing;
    return scope(() => {
        const [ids, logprobs, topIds, topLogprobs] = outputs;
        const both = logprobs.toArray();
        const count = both.length / 2;
        return {
            ids: ids.toArray(),
            raw: both.subarray(0, count),
            processed: both.subarray(count),
            topIds: topIds.toArray(),
            topLogprobs: topLogprobs.toArray(),
        };
    });
}
//# sourceMappingURL=cpu-step.js.map