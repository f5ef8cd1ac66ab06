/** Examples in an epoch's order, the next ones read and encoded while the last are in use. */
import type { Encoded } from './encode.js';
import type { EpochOrder, Visit } from './epoch-order.js';
import type { DataCursor, ExampleCounts, ExampleSet, ExampleStream } from './types.js';
export interface ExampleSource<E> {
    readonly order: EpochOrder;
    load(visit: Visit): Promise<Encoded<E>>;
    bytesOf(visit: Visit): number;
}
export declare class Counts implements ExampleCounts {
    truncated: number;
    readonly dropped: Record<string, number>;
    firstDropped: string | undefined;
    /** The example, or undefined for one that was dropped. */
    note<E>(encoded: Encoded<E>): E | undefined;
}
/** What to say where every example was dropped. */
export declare function whyEmpty({ dropped, firstDropped }: ExampleCounts): string;
export declare class ShuffledStream<E> implements ExampleStream<E> {
    #private;
    private readonly source;
    readonly counts: Counts;
    constructor(source: ExampleSource<E>);
    get size(): number;
    get cursor(): DataCursor;
    seek({ epoch, position }: DataCursor): void;
    take(count: number): Promise<readonly E[]>;
}
export declare class FixedSet<E> implements ExampleSet<E> {
    #private;
    private readonly source;
    readonly counts: Counts;
    constructor(source: ExampleSource<E>);
    get size(): number;
    parts(count: number): AsyncGenerator<readonly E[]>;
}
