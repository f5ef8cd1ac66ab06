export interface BpeOptions {
    /** How many tokens to end with: the alphabet and one per merge. */
    readonly vocabSize: number;
    /** A pair seen fewer times than this is not merged. */
    readonly minFrequency: number;
}
export interface BpeModel {
    /** Tokens in the order of their ids: the alphabet, then what each merge made. */
    readonly tokens: readonly string[];
    readonly merges: readonly (readonly [left: string, right: string])[];
}
/**
 * Learns merges from word counts: again and again the most frequent pair of adjacent symbols becomes one symbol, ties
 * going to the pair that comes first in lexical order (left, then right), so the result depends on the counts alone and
 * not on the order of words or files. Yields the number of tokens so far, often.
 *
 * Pair counts are kept up to date from the words a merge touches, so a merge costs what it changes, not the corpus.
 */
export declare function learnBpe(words: ReadonlyMap<string, number>, alphabet: readonly string[], { vocabSize, minFrequency }: BpeOptions): Generator<number, BpeModel>;
