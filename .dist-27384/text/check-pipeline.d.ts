import { type JsonObject } from './json.js';
/** Throws a {@link TokenizerError} that names the file and the place in it. */
export declare function checkPipeline(path: string, tokenizer: JsonObject): void;
