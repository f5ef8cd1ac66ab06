/** How much of a text has to be looked at to know that it has too many tokens. Pure. */
import type { TokenIds } from './token-ids.js';
export type BoundedEncoding = {
    kind: 'encoded';
    ids: TokenIds;
}
/** It has at least so many tokens. */
 | {
    kind: 'too-long';
    atLeast: number;
};
/**
 * A beginning with more than this many times the tokens that are allowed settles it: what follows a text may change how its
 * last word is cut, but does not halve its tokens.
 */
export declare const slack = 2;
/**
 * Lengths of the beginnings to encode, each twice the last, up to the whole text; undefined where the text cannot be in so
 * many tokens however they are cut. A cut never parts a surrogate pair.
 */
export declare function beginnings(text: string, { maxTokens, longestToken }: {
    maxTokens: number;
    longestToken: number;
}): Generator<number | undefined, void>;
