/** One line of a JSONL file, parsed; an {@link InputError} says what is wrong with it, without its number. */
export declare function parseJsonLine(text: string): unknown;
/** Collects what is wrong with the lines of a file, so that a person hears of all of them at once. */
export declare class BadLines {
    #private;
    private readonly file;
    /** How many are listed; the rest are counted. */
    private readonly listed;
    constructor(file: string, 
    /** How many are listed; the rest are counted. */
    listed?: number);
    add(line: number, message: string): void;
    /** Throws one {@link InputError} for all lines that were added; does nothing when there were none. */
    throwIfAny(): void;
}
