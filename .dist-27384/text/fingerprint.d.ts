/** Equal for directories with the same tokenizer, by content: it may be written with other spaces. Undefined where there is none. */
export declare function tokenizerFingerprint(directory: string): Promise<string | undefined>;
