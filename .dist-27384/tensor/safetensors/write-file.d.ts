import type { Tensor } from '../tensor.js';
import { type TransferOptions } from './file.js';
import { type Metadata } from './header.js';
/** Tensors by name. They must be neither changed nor disposed until the write has settled. */
export type NamedTensors = Readonly<Record<string, Tensor>> | ReadonlyMap<string, Tensor>;
export interface WriteOptions extends TransferOptions {
    /** Free text kept in the header. */
    readonly metadata?: Metadata;
    /**
     * Gives what is written instead of a tensor, of its shape and dtype, when its turn comes; it is disposed after. Undefined:
     * the tensor itself. So what is derived from others need not all be in memory at once.
     */
    readonly materialize?: (name: string, tensor: Tensor) => Promise<Tensor | undefined>;
}
/**
 * Writes one file, atomically: until the promise resolves, whatever was at `path` before stays there.
 * The bytes are those the reference implementation would write. Tensors on another device or not contiguous are copied one at a
 * time; tensors that share memory are each written in full, and come back as separate tensors.
 *
 * @example
 * await writeSafetensors('adapter.safetensors', { 'lora.a': a, 'lora.b': b }, { metadata: { format: 'pt' } })
 */
export declare function writeSafetensors(path: string, tensors: NamedTensors, options?: WriteOptions): Promise<void>;
export declare function entriesOf(tensors: NamedTensors): Iterable<readonly [string, Tensor]>;
