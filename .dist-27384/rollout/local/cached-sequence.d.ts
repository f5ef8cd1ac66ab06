/** What a scheduler knows of a sequence: how long it is, how much of it is computed, where that lies, and who asked for it. Pure. */
/** Tokens whose keys and values are computed, or are to be. */
export interface Cached {
    blocks: number[];
    /** How many of its tokens are in the cache. */
    computed: number;
    /** The logits of its rows before this one are wanted. */
    readonly scoredTo: number;
}
/** All of a prompt but its last token, computed once for the samples that wait for it. */
export declare class Prefix implements Cached {
    readonly length: number;
    readonly scoredTo: number;
    blocks: number[];
    computed: number;
    state: 'idle' | 'computing' | 'ready';
    /** Samples that have not started. */
    waiting: number;
    constructor(length: number, scoredTo?: number);
}
export declare class CachedSequence implements Cached {
    /** Tokens there are: the prompt's and the generated ones. */
    length: number;
    prefix: Prefix | undefined;
    readonly scoredTo: number;
    blocks: number[];
    computed: number;
    preemptions: number;
    /** The caller that asked for it. */
    lane: Lane | undefined;
    state: 'waiting' | 'running' | 'finished';
    constructor(
    /** Tokens there are: the prompt's and the generated ones. */
    length: number, prefix: Prefix | undefined, scoredTo?: number);
}
/** The sequences of one caller. */
export interface Lane {
    readonly caller: object;
    /** Those that are to come, in this order. Some were running, and keep their blocks while nobody needs them. */
    readonly waiting: CachedSequence[];
    running: number;
    /** How many were admitted in this turn. */
    served: number;
    /** How often others were admitted because the first of these needs more blocks than are free. */
    passed: number;
}
