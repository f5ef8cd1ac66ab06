/**
 * An error whose message is all that a person needs: what is wrong with what, and what to do about it. The command line
 * prints the message alone; any other error is a defect, and is printed with its stack.
 *
 * Each room has its own kinds (a model directory that cannot be used, a tokenizer file that is damaged, a setup step that
 * cannot go on); they extend this one, so that code that shows errors needs to know nothing else.
 */
export class WhetstoneError extends Error {
    name = 'WhetstoneError';
    /** What to do about it, where that is more than the message says. */
    remedy;
    constructor(message, options = {}) {
        super(message, 'cause' in options ? { cause: options.cause } : undefined);
        this.remedy = options.remedy;
    }
}
/**
 * Throws an error for people again with the name of the option that led to it: the room that found out knows the file or the
 * device, and its caller which option named it. Any other error is thrown as it is.
 */
export function refuse(option, error) {
    if (!(error instanceof WhetstoneError))
        throw error;
    const { message, remedy } = error;
    throw new InputError(`${option}: ${message}`, { cause: error, ...(remedy === undefined ? {} : { remedy }) });
}
/** Runs work whose errors for people are named after an option, as {@link refuse} does. */
export function naming(option, work) {
    try {
        return work();
    }
    catch (error) {
        refuse(option, error);
    }
}
/** What a person gave (a file, a line of a file, a directory) cannot be used as it is. The message names it. */
export class InputError extends WhetstoneError {
    name = 'InputError';
}
//# sourceMappingURL=errors.js.map