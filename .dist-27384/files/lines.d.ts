export interface NumberedLine {
    text: string;
    /** In the file, from 1. */
    line: number;
}
export interface LineOptions {
    signal?: AbortSignal;
    /** Whether a line's text has its end: `\n` or `\r\n`. Dropped unless asked for. */
    ends?: 'drop' | 'keep';
}
/**
 * The lines of a UTF-8 file, one at a time. A byte-order mark at the start of the file is dropped. Lines are found as bytes,
 * so that a character that is not UTF-8 is reported with the number of its own line. What is wrong with the file is an
 * {@link InputError} that names it.
 */
export declare function numberedLines(file: string, options?: LineOptions): AsyncGenerator<NumberedLine>;
