import { InputError } from '../errors/index.js';
/** One line of a JSONL file, parsed; an {@link InputError} says what is wrong with it, without its number. */
export function parseJsonLine(text) {
    if (text.trim() === '')
        throw new InputError('empty');
    try {
        return JSON.parse(text);
    }
    catch (cause) {
        throw new InputError(`not JSON (${cause.message})`, { cause });
    }
}
/** Collects what is wrong with the lines of a file, so that a person hears of all of them at once. */
export class BadLines {
    file;
    listed;
    #messages = [];
    #count = 0;
    constructor(file, 
    /** How many are listed; the rest are counted. */
    listed = 10) {
        this.file = file;
        this.listed = listed;
    }
    add(line, message) {
        this.#count++;
        if (this.#messages.length < this.listed)
            this.#messages.push(`\n  line ${line}: ${message}`);
    }
    /** Throws one {@link InputError} for all lines that were added; does nothing when there were none. */
    throwIfAny() {
        if (this.#count === 0)
            return;
        const what = this.#count === 1 ? 'a bad line' : `${this.#count} bad lines`;
        const unlisted = this.#count - this.#messages.length;
        const more = unlisted > 0 ? `\n  and ${unlisted} more` : '';
        throw new InputError(`${this.file}: ${what}; nothing was written${this.#messages.join('')}${more}`);
    }
}
//# sourceMappingURL=jsonl.js.map