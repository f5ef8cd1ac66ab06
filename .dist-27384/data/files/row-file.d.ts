import type { RowFormat } from './row-format.js';
import { RowIndex, type RowPlace } from './row-index.js';
/** A row that was found, or what is there in its stead. */
export interface ScannedRow {
    /** `FILE:12`, or `FILE, row 3`. */
    readonly where: string;
    readonly place: RowPlace;
    readonly parsed: {
        readonly kind: 'row';
        readonly value: unknown;
    } | {
        readonly kind: 'bad';
        readonly reason: string;
        readonly message: string;
    };
}
export interface OpenOptions {
    /** What messages call it. */
    readonly shown?: string;
    readonly signal?: AbortSignal | undefined;
    /** How many rows are wanted at least, where not all are: more need not be unpacked. */
    readonly wanted?: number;
}
export interface ScanOptions {
    readonly signal?: AbortSignal | undefined;
    readonly onBytes?: ((bytes: number) => void) | undefined;
}
export declare class RowFile {
    #private;
    /** As people know it. */
    readonly path: string;
    private readonly handle;
    private readonly format;
    /** Where `handle` is of the rows of another file. */
    private readonly unpacked?;
    readonly index: RowIndex;
    private constructor();
    static open(file: string, { shown, ...options }?: OpenOptions): Promise<RowFile>;
    /** Of all bytes, in hexadecimal; there once the file was scanned. */
    get fingerprint(): string;
    get bytes(): number;
    get values(): RowFormat['values'];
    /** Every row of the file, some at a time. The caller adds those it wants to `index`. */
    scan({ signal, onBytes }?: ScanOptions): AsyncGenerator<ScannedRow[]>;
    /** The value of a row of the index. */
    read(row: number): Promise<{
        value: unknown;
        where: string;
    }>;
    close(): Promise<void>;
}
export declare function whyUnreadable(file: string, cause: NodeJS.ErrnoException): string;
