import { WhetstoneError } from '../errors/index.js';
/** A run directory cannot be used as asked: another process owns it, it belongs to another config, a file of it is damaged. */
export class RunError extends WhetstoneError {
    name = 'RunError';
}
/** A line of a journal is not what was written. */
export class JournalError extends RunError {
    name = 'JournalError';
    file;
    /** From 1. */
    line;
    /** What the damaged record still says of itself, such as its kind, group and sample. */
    record;
    constructor(file, line, record, options) {
        const named = Object.entries(record).map(([key, value]) => `${key} ${value}`);
        const who = named.length > 0 ? ` (${named.join(', ')})` : '';
        super(`${file}:${line}: the checksum does not match: the record${who} is not the one that was written`, options);
        this.file = file;
        this.line = line;
        this.record = record;
    }
}
//# sourceMappingURL=errors.js.map