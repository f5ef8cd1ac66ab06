type Json = Readonly<Record<string, unknown>>;
/**
 * The padding for a reward model in `directory`, which the tokenizer's files are brought in line with. Null where no token can be
 * taken: transformers then refuses batches instead of scoring them wrongly.
 */
export declare function separatePadding(directory: string, config: Json): Promise<number | null>;
export {};
