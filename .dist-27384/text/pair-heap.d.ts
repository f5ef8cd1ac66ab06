/** A pair of adjacent symbols waiting to be merged, with the count it had when it was put in. */
export interface PairEntry {
    readonly key: number;
    readonly count: number;
}
/**
 * A binary heap: highest count first, ties by `compareKeys`. Counts change while entries wait; the owner notices a stale
 * entry when it comes out and puts it back with the count it now has.
 */
export declare class PairHeap {
    #private;
    constructor(compareKeys: (a: number, b: number) => number);
    push(entry: PairEntry): void;
    pop(): PairEntry | undefined;
}
