export declare const bleuTokenizers: readonly ['13a', 'zh', 'char'];
/**
 * `13a`: words and punctuation, as mteval-v13a of WMT; `zh`: the same with every Chinese character a token; `char`: every character
 * is a token.
 */
export type BleuTokenizer = (typeof bleuTokenizers)[number];
/**
 * The tokenizer for the script of the references: `13a` splits at spaces, which Chinese, Japanese and Thai do not have. A tenth of the
 * letters decides: names and quotations do not.
 *
 * @example
 * bleuTokenizerFor(['今天天气很好。']) // zh
 */
export declare function bleuTokenizerFor(references: Iterable<string>): BleuTokenizer;
export declare function bleuTokens(text: string, tokenizer: BleuTokenizer): string[];
