/**
 * An error whose message is all that a person needs: what is wrong with what, and what to do about it. The command line
 * prints the message alone; any other error is a defect, and is printed with its stack.
 *
 * Each room has its own kinds (a model directory that cannot be used, a tokenizer file that is damaged, a setup step that
 * cannot go on); they extend this one, so that code that shows errors needs to know nothing else.
 */
export declare class WhetstoneError extends Error {
    name: string;
    /** What to do about it, where that is more than the message says. */
    readonly remedy: string | undefined;
    constructor(message: string, options?: ErrorOptions & {
        remedy?: string;
    });
}
/**
 * Throws an error for people again with the name of the option that led to it: the room that found out knows the file or the
 * device, and its caller which option named it. Any other error is thrown as it is.
 */
export declare function refuse(option: string, error: unknown): never;
/** Runs work whose errors for people are named after an option, as {@link refuse} does. */
export declare function naming<T>(option: string, work: () => T): T;
/** What a person gave (a file, a line of a file, a directory) cannot be used as it is. The message names it. */
export declare class InputError extends WhetstoneError {
    name: string;
}
