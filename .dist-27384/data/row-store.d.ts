/**
 * The rows of a set of files: found and checked once, read again in any order. In memory are 12 bytes a row for where it is, and
 * 4 for each example it gives.
 */
import type { Rows } from './encode.js';
import { RowFile } from './files/row-file.js';
import { GrowingList } from './files/row-index.js';
import type { DataOptions } from './options.js';
import type { SourceFiles } from './source-files.js';
import type { ExampleKind, SkippedRow } from './types.js';
export interface RowStoreOptions extends Pick<DataOptions, 'promptTemplate' | 'systemPrompt' | 'maxBadRows'> {
    /** Share of the rows that goes to `heldOut`. */
    readonly heldOutShare: number;
    /** What else is wrong with an example of a row; the row is then a bad one. */
    readonly checkExample?: ((example: Rows[ExampleKind]) => string | undefined) | undefined;
    readonly onSkipped?: ((row: SkippedRow) => void) | undefined;
    /** Bytes that have been read. */
    readonly onProgress?: ((bytes: number) => void) | undefined;
    readonly signal?: AbortSignal | undefined;
}
export interface StoredRow<T> {
    readonly row: T;
    readonly where: string;
    readonly rowId: string;
}
export declare class RowStore<K extends ExampleKind> {
    #private;
    readonly kind: K;
    private readonly found;
    private readonly options;
    /** Examples by source: the number of the row of each, so that a row with several is there as often. */
    readonly examples: readonly GrowingList[];
    readonly heldOut: GrowingList;
    readonly formats: Record<string, number>;
    readonly skipped: Record<string, number>;
    /** Whether a row is in messages, which takes a chat template. */
    hasMessages: boolean;
    private constructor();
    static open<K extends ExampleKind>(kind: K, found: SourceFiles, options: RowStoreOptions): Promise<RowStore<K>>;
    get rows(): number;
    get repeated(): number;
    get files(): readonly RowFile[];
    /** The example at a place of `examples` or `heldOut`. */
    read(list: GrowingList, place: number): Promise<StoredRow<Rows[K]>>;
    /** Bytes of the row behind an example. */
    bytesOf(list: GrowingList, place: number): number;
    /** Notes a row that no example could be made of, once however often epochs visit it. Too many that are wrong are an error. */
    drop(row: SkippedRow, list: GrowingList, place: number): void;
    close(): Promise<void>;
}
