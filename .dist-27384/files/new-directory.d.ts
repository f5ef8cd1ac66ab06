/**
 * Whether a directory is there or could be made, before any work is done for it: what is there of its path is directories, and
 * the last of them may be written to. Makes nothing. What is wrong is an {@link InputError} that names the path.
 */
export declare function checkNewDirectory(path: string): Promise<void>;
