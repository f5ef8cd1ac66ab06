/** The weights of an engine that nobody trains: replaced from disk while requests are in flight, given away and taken back. */
import { Adapter, type LocalModel } from '../../model/index.js';
import type { LocalEngine } from './engine.js';
export declare class ReplaceableWeights {
    private readonly model;
    private readonly engine;
    constructor(model: LocalModel<'language'>, engine: LocalEngine);
    /** Whether the engine has room for adapters. */
    get takesAdapters(): boolean;
    /** Why nothing can be generated: a directory was read half. */
    get broken(): string | undefined;
    /** Requests in flight wait, and go on with the new weights. A directory that does not fit leaves the old ones. */
    reload(directory: string): Promise<void>;
    /** An adapter in PEFT's format, to be used now and then; the caller disposes it. */
    readAdapter(directory: string): Promise<Adapter>;
    /** What is sampled from the next token on; undefined: the weights without an adapter. */
    useAdapter(adapter: Adapter | undefined): Promise<void>;
    /** Moves the weights off their device, while the engine sleeps. */
    offload(): Promise<void>;
    restore(): Promise<void>;
}
