import { type LoadOptions, LocalModel } from '../../model/index.js';
import { type LoadTokenizerOptions, Tokenizer } from '../../text/index.js';
import { LocalEngine } from './engine.js';
import type { LocalEngineOptions } from './engine-options.js';
import { ReplaceableWeights } from './replaceable-weights.js';
export interface OpenOptions extends Pick<LoadOptions<'language'>, 'adapter' | 'device' | 'signal' | 'onProgress'>, Omit<LocalEngineOptions, 'tokenizer' | 'eosIds'>, LoadTokenizerOptions {
}
export interface OpenedEngine {
    model: LocalModel<'language'>;
    /** Undefined where the directory has none: prompts are then ids. */
    tokenizer: Tokenizer | undefined;
    engine: LocalEngine;
    /** For a server whose clients send other weights. */
    weights: ReplaceableWeights;
    close(): Promise<void>;
}
export declare function openEngine(directory: string, options?: OpenOptions): Promise<OpenedEngine>;
