import type { Tensor } from '../tensor.js';
import { type ReadOptions } from './file.js';
import { type Metadata, type TensorInfo } from './header.js';
export declare const singleName = "model.safetensors";
export declare const indexName = "model.safetensors.index.json";
/**
 * A model's weights as Hugging Face lays them out: `model.safetensors`, or `model.safetensors.index.json` beside the shards it
 * names. Opening checks every shard's header; tensors are read when asked for.
 *
 * With both present `model.safetensors` is the checkpoint, as in transformers. Tensors in a shard that the index does not name
 * are not part of the checkpoint.
 *
 * @example
 * const checkpoint = await Checkpoint.open('models/qwen')
 * for (const name of checkpoint.names) parameters.set(name, await checkpoint.read(name))
 * await checkpoint.close()
 */
export declare class Checkpoint implements AsyncDisposable {
    #private;
    private constructor();
    /** Opens a directory, a single `.safetensors` file, or an index file (`.json`). */
    static open(path: string): Promise<Checkpoint>;
    get names(): readonly string[];
    /** The metadata of the (first) file; writers put the same into every shard. */
    get metadata(): Metadata;
    has(name: string): boolean;
    info(name: string): TensorInfo;
    /** A new CPU tensor with the stored values; the caller disposes it. */
    read(name: string, options?: ReadOptions): Promise<Tensor>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
