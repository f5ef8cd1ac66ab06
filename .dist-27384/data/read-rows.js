/** Rows of a file, each with where it is. */
import { DataError } from './errors.js';
import { RowFile } from './files/row-file.js';
/** Collects what is wrong with rows, so that a person hears of all of it at once. */
export class BadRows {
    file;
    listed;
    #messages = [];
    #count = 0;
    constructor(file, listed = 10) {
        this.file = file;
        this.listed = listed;
    }
    get count() {
        return this.#count;
    }
    add(where, message) {
        this.#count++;
        if (this.#messages.length < this.listed)
            this.#messages.push(`\n  ${where}: ${message}`);
    }
    throwIfAny() {
        if (this.#count > 0)
            throw this.error();
    }
    /** `remedy`: a line that says what can be done about them all. */
    error(remedy = '') {
        const what = this.#count === 1 ? 'a bad row' : `${this.#count} bad rows`;
        const unlisted = this.#count - this.#messages.length;
        const more = unlisted > 0 ? `\n  and ${unlisted} more` : '';
        return new DataError(`${this.file}: ${what}${this.#messages.join('')}${more}${remedy && `\n${remedy}`}`);
    }
}
/** The rows of a file. What cannot be read as a row is added to `bad`; empty lines at the end of a file are no rows. */
export async function* readRows(file, bad, options = {}) {
    const opened = await RowFile.open(file);
    try {
        for await (const batch of opened.scan(options)) {
            for (const { where, parsed } of batch) {
                const row = parsed.kind === 'row' ? asRow(parsed.value, 'prompt') : parsed;
                if ('message' in row)
                    bad.add(where, String(row.message));
                else
                    yield { row: row.row, where, values: opened.values };
            }
        }
    }
    finally {
        await opened.close();
    }
}
/** A value as a row; a bare text is the one column it is told to be. */
export function asRow(value, bare) {
    if (typeof value === 'string' && bare !== undefined)
        return { row: { [bare]: value } };
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
        return { row: value };
    const got = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`;
    return { message: `expected an object of columns, got ${got}` };
}
//# sourceMappingURL=read-rows.js.map