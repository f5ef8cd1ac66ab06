/**
 * Makes a directory, and those above it where they are missing; one that is there already is fine. Node's own `recursive` never
 * ends where a file system, such as that of /proc, says that a directory is missing although it is there.
 */
export declare function makeDirectory(path: string): Promise<void>;
