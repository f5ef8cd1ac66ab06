/** What a file of data is: its kind, its rows, how long they are, and some of them as a trainer sees them. */
import type { Tokenizer } from '../text/index.js';
import { type LengthSummary } from './lengths.js';
import type { DataOptions, DataSpec } from './options.js';
import { type RenderedRow } from './render-row.js';
import { type Column } from './row-schema.js';
import type { ExampleKind, SkippedRow } from './types.js';
export interface InspectOptions extends DataOptions {
    readonly baseDirectory: string;
    /** Default: what most of the first rows are. */
    readonly kind?: ExampleKind;
    /** Lengths and rows in tokens; without it in characters. */
    readonly tokenizer?: Tokenizer;
    /** How many rows are rendered. */
    readonly rendered: number;
    readonly signal?: AbortSignal;
    /** Examples that have been looked at, of how many. */
    readonly onProgress?: (done: number, total: number) => void;
}
export interface Inspection {
    readonly kind: ExampleKind;
    readonly files: readonly {
        readonly path: string;
        readonly bytes: number;
        readonly rows: number;
    }[];
    readonly formats: Readonly<Record<string, number>>;
    /** Columns of the first rows. */
    readonly columns: readonly Column[];
    readonly rows: number;
    readonly repeated: number;
    readonly examples: number;
    /** Rows that are left out, by reason, and the first of them. */
    readonly skipped: Readonly<Record<string, number>>;
    readonly skippedRows: readonly SkippedRow[];
    readonly unit: 'tokens' | 'characters';
    readonly lengths: LengthSummary;
    readonly rendered: readonly RenderedRow[];
}
/**
 * Looks at every row of some files. Bad rows are part of what is found, and no error.
 *
 * @example
 * const options = { ...dataOptionsSchema.parse({}), baseDirectory: '.', rendered: 3 }
 * const { kind, lengths } = await inspectData('train.jsonl', { ...options, tokenizer })
 */
export declare function inspectData(spec: DataSpec, options: InspectOptions): Promise<Inspection>;
