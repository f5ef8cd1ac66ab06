import { type DType } from '../dtype.js';
/**
 * The format: 8 bytes with the header's length (little-endian), the header (a JSON object, padded with spaces), the data.
 * Offsets in the header count from the start of the data; the tensors must tile the data without gap or overlap.
 */
export declare const lengthBytes = 8;
/** The limit of the reference implementation: real headers are well below 1 MB. */
export declare const maxHeaderBytes = 100000000;
/** What a file says about one of its tensors. */
export interface TensorInfo {
    readonly dtype: DType;
    readonly shape: readonly number[];
    readonly bytes: number;
}
export interface TensorEntry extends TensorInfo {
    /** Where its bytes begin, counted from the start of the data. */
    readonly start: number;
}
export type Metadata = Readonly<Record<string, string>>;
export interface Header {
    /** In the order of their bytes in the file. */
    readonly entries: ReadonlyMap<string, TensorEntry>;
    readonly metadata: Metadata;
}
/** The header's length, from the first 8 bytes of a file of `fileBytes` bytes. */
export declare function parseHeaderLength(prefix: Uint8Array, { file, fileBytes }: {
    file: string;
    fileBytes: number;
}): number;
/** Reads and checks a header; `dataBytes` is what the file has after it. Everything it returns is safe to rely on. */
export declare function parseHeader(bytes: Uint8Array, { file, dataBytes }: {
    file: string;
    dataBytes: number;
}): Header;
/** The bytes before the data, and the order in which the tensors' bytes must follow. */
export interface Layout<T> {
    readonly head: Uint8Array;
    readonly order: readonly {
        readonly name: string;
        readonly tensor: T;
        readonly bytes: number;
    }[];
    readonly dataBytes: number;
}
/** Lays out a file exactly as the reference implementation does, which orders tensors by dtype and then by name. */
export declare function layOut<T extends {
    readonly dtype: DType;
    readonly shape: readonly number[];
}>(tensors: Iterable<readonly [string, T]>, { file, metadata }: {
    file: string;
    metadata?: Metadata | undefined;
}): Layout<T>;
export declare function isObject(value: unknown): value is Record<string, unknown>;
