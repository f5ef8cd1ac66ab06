import { type Inspection } from './libtorch.js';
import type { Platform } from './platform.js';
export type Variant = 'cpu' | 'cuda';
/** The user-level cache: every Whetstone of this user shares one copy of libtorch. */
export interface Cache {
    root: string;
    lock: string;
    /** The directory a variant lives in once it is complete. Its libtorch is `torch/` in there. */
    entry(variant: Variant): string;
    /** A half-downloaded archive waits here to be continued. */
    downloads: string;
}
export declare function openCache(env: NodeJS.ProcessEnv, platform: Platform): Cache;
export declare function inspectEntry(cache: Cache, variant: Variant): Inspection | undefined;
/**
 * Makes an entry: `fill` works in a directory that becomes the entry in one rename, or disappears. Call it under the lock;
 * what an earlier, killed setup left behind is therefore nobody's and is removed first.
 */
export declare function createEntry(cache: Cache, variant: Variant, fill: (folder: string) => Promise<object>): Promise<void>;
/** Better before a download of minutes than at the end of it. */
export declare function requireSpace(folder: string, bytes: number, free?: typeof freeBytes): Promise<void>;
declare function freeBytes(folder: string): Promise<number>;
export {};
