/** Of a tile: rows, and the weight's features. */
export declare const WIDE_ROWS: number, PERSISTENT_FEATURES: number;
export declare const persistentGemmDefines: (inner: number) => Record<string, string | number>;
/** `width`: elements of a row of what comes out of a tile, half of whose rows lie in shared memory before they leave. */
export declare const persistentGemmLaunch: (width: number) => {
    readonly block: readonly [288];
    readonly sharedBytes: number;
    readonly overlap: true;
};
