/**
 * Whether a map of characters in SentencePiece's format can be walked without leaving it: the length of a double-array trie in
 * bytes (32 bits, little-endian), the trie, and the replacements it points into, each ended by a zero byte.
 */
export declare function isSoundCharsmap(base64: string): boolean;
