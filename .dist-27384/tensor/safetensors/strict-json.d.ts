/**
 * `JSON.parse` for files others wrote. It refuses what `JSON.parse` lets through silently: a key that appears twice in one object
 * (the last one would win, so two readers could see two different files), and a key or string that is no Unicode text.
 * Throws a plain `Error` whose message continues a sentence such as "the header ...".
 */
export declare function parseStrictJson(bytes: Uint8Array): unknown;
/** Half of a surrogate pair: JSON can spell it (`"\ud800"`), UTF-8 cannot. */
export declare function hasLoneSurrogate(string: string): boolean;
