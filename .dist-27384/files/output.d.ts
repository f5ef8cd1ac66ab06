/** Where a command puts what it makes: a file that appears when it is complete, or a stream that gets it as it is made. */
export interface Output {
    /** For messages. */
    readonly name: string;
    readonly kind: 'file' | 'stream';
    /** What is left when the writing was interrupted, as a sentence. */
    readonly interrupted: string;
    /** Calls `content` with a function that writes; a file is put in place when it is done, and not at all where it throws. */
    write(content: OutputContent, options: {
        signal: AbortSignal;
    }): Promise<void>;
}
export type OutputContent = (write: (text: string) => Promise<void>) => Promise<void>;
export interface OutputOptions {
    /** Files that are read while the output is written. */
    inputs: readonly string[];
    /** Directories the output has no place in, such as that of the model. */
    directories: readonly string[];
}
/**
 * Finds out what an output's path means, before any work is done for it.
 *
 * - `-` and `/dev/stdout`, other names of open files (`/dev/fd/3`), pipes with a name and devices are streamed to.
 * - A symbolic link stands for the file it leads to: that one is replaced, and the link stays.
 * - A file that is an input too, or that would lie in one of `directories`, is refused.
 */
export declare function openOutput(path: string, options: OutputOptions): Promise<Output>;
