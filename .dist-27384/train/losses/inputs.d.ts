/** What every loss asks of its inputs before it computes anything. */
/** What errors call a sample: its own name, or else its place among those of the call. */
export interface Named {
    readonly name?: string | undefined;
}
/**
 * Every array of a sample has one finite number per token, as many as the first field has; a field that is absent is missing,
 * unless it is one of `optional`. The first thing that is wrong is a `RangeError` that names the sample, the field and the token.
 */
export declare function checkTokenInputs<S extends Named>(samples: readonly S[], { needed, optional }: {
    needed: readonly [keyof S & string, ...string[]];
    optional?: readonly string[];
}): void;
/** The numbers of samples that have one of each instead of one per token. */
export declare function checkNumberInputs<S extends Named>(samples: readonly S[], fields: readonly (keyof S & string)[]): void;
/** Flags, one per token, 0 or 1 (or booleans). */
export declare function checkFlags<S extends Named>(samples: readonly S[], field: keyof S & string, like: keyof S & string): void;
/**
 * Finite inputs can still overflow (a log-ratio of 800): such a gradient must not reach the weights, nor such a value a log, and
 * the token it arises at is named.
 */
export declare function checkTokenGradient(sample: Named, place: number, gradient: Float64Array, value: number): void;
/** The same for losses of one number per sample. */
export declare function checkNumberGradient(sample: Named, place: number, value: number, gradient: number): void;
/** Totals are those of the whole batch, so that no part of it can have more. */
export declare function checkTotal(what: string, total: number, present: number): void;
