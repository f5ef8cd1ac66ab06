export interface WriteDirectoryOptions {
    /**
     * Which entries of a directory that is there already may go with it. Any other belongs to the user, and stops the write.
     * Default: none; only an empty directory is replaced.
     */
    replaces?: (entry: string) => boolean;
}
/**
 * Makes or replaces a directory: every reader sees the whole old one or the whole new one. `fill` is given the directory to
 * write into; what it throws comes out unchanged, and nothing is left. A symbolic link stays, its target is replaced.
 *
 * @example
 * await writeDirectoryAtomic('out/model', at => writeFile(join(at, 'config.json'), '{}'), { replaces: () => true })
 */
export declare function writeDirectoryAtomic<T>(directory: string, fill: (temporary: string) => Promise<T>, { replaces }?: WriteDirectoryOptions): Promise<T>;
/**
 * Finishes what a process that died while replacing this directory began, and removes what dead processes left beside it.
 * Where a living process is between two renames it waits for the second.
 */
export declare function recoverDirectory(directory: string): Promise<void>;
