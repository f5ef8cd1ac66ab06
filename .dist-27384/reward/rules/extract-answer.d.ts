/** Where in a response the answer is. */
/** The content of the last `\boxed{...}`, braces matched; undefined where there is none, or where it never closes. */
export declare function lastBoxed(text: string): string | undefined;
/** What follows the last `####`, to the end of its line: GSM8K's way to write the answer. */
export declare function afterHashes(text: string): string | undefined;
/** The content of the last `<tag>...</tag>`. */
export declare function lastTag(text: string, tag: string): string | undefined;
/** The last number in the text, with its sign, thousands separators and fraction. */
export declare function lastNumber(text: string): string | undefined;
