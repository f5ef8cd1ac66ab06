import { type NamedTensors, type WriteOptions } from './write-file.js';
export interface WriteCheckpointOptions extends WriteOptions {
    /** A shard is closed before it would grow past this; a single larger tensor gets a shard of its own. Default 5 GB. */
    readonly maxShardBytes?: number;
}
/**
 * Writes a model's weights into a directory as Hugging Face lays them out: `model.safetensors`, or shards
 * `model-00001-of-0000N.safetensors` and `model.safetensors.index.json` where they exceed `maxShardBytes`.
 *
 * A save over an earlier one replaces it at a single instant, and only then removes files of the earlier save and of interrupted ones.
 * One writer per directory at a time.
 *
 * @example
 * await writeCheckpoint('out/model', new Map([['lm_head.weight', zeros([8, 4])]]), { maxShardBytes: 2e9 })
 */
export declare function writeCheckpoint(directory: string, tensors: NamedTensors, { maxShardBytes, metadata, signal, onProgress, materialize }?: WriteCheckpointOptions): Promise<void>;
