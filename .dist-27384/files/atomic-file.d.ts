import { type FileHandle } from 'node:fs/promises';
import { WhetstoneError } from '../errors/index.js';
/** A file could not be put in place. The previous file, if there was one, is untouched. */
export declare class FileWriteError extends WhetstoneError {
    name: string;
    readonly path: string;
    /** The operating system's code, such as `ENOSPC`. */
    readonly code: string | undefined;
    constructor(path: string, cause: NodeJS.ErrnoException);
}
/** What to put into the file: its bytes, or a function that writes them to the open temporary file. */
export type FileContent = string | Uint8Array | ((file: FileHandle) => Promise<void>);
/**
 * Replaces a file so that every reader, and every process that starts after a crash or a power cut, sees either the whole old
 * file or the whole new one: temporary file in the same directory, fsync, rename, fsync of the directory.
 *
 * On failure the temporary file is removed. Only a killed process can leave one behind, under the name {@link temporaryName} gives;
 * whoever writes the file next removes it.
 * A symbolic link at `path` is replaced, not followed. What a content function throws comes out unchanged,
 * except that an error of the file system becomes a {@link FileWriteError}.
 *
 * @example
 * await writeFileAtomic('run/config.json', JSON.stringify(config))
 */
export declare function writeFileAtomic(path: string, content: FileContent): Promise<void>;
/** Makes renames and removals inside a directory survive a power cut. */
export declare function syncDirectory(directory: string): Promise<void>;
