import type { DType } from '../dtype.js';
import { Tensor } from '../tensor.js';
import { type Metadata, type TensorInfo } from './header.js';
/** Bytes moved between two looks at the abort signal; large enough that the round trip to the thread pool does not show. */
export declare const chunkBytes: number;
/** How far a read or a write has come. */
export interface Progress {
    readonly bytesDone: number;
    readonly bytesTotal: number;
}
export interface TransferOptions {
    readonly signal?: AbortSignal;
    readonly onProgress?: (progress: Progress) => void;
}
export interface ReadOptions extends TransferOptions {
    /** Cast to this dtype after reading. Default: as stored. */
    readonly dtype?: DType;
}
/**
 * One safetensors file. Opening reads and checks the header only; a tensor's bytes are read when it is asked for, straight into
 * its memory. Whatever is wrong with the file is a {@link SafetensorsError}; an aborted read throws the signal's reason.
 *
 * @example
 * const file = await SafetensorsFile.open('model.safetensors')
 * const weight = await file.read('lm_head.weight', { dtype: 'float32' })
 * await file.close()
 */
export declare class SafetensorsFile implements AsyncDisposable {
    #private;
    readonly path: string;
    private constructor();
    static open(path: string): Promise<SafetensorsFile>;
    /** The tensors' names, in the order of their bytes in the file. */
    get names(): readonly string[];
    /** The free text the writer left; has no prototype, so any key is safe to look up. */
    get metadata(): Metadata;
    has(name: string): boolean;
    info(name: string): TensorInfo;
    /** A new CPU tensor with the stored values; the caller disposes it. */
    read(name: string, options?: ReadOptions): Promise<Tensor>;
    /** Reads a tensor's bytes into memory the caller owns, which must have exactly {@link TensorInfo.bytes} bytes. */
    readInto(name: string, target: Uint8Array, options?: TransferOptions): Promise<void>;
    /** Waits for the read in flight, if any; later reads fail. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
