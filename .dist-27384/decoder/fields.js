/** Fields of a JSON file, read by schemas whose messages name the file, the field, and what it should have been. */
import { z } from 'zod';
import { ModelError } from './errors.js';
/** The message of a field that is not what it should be. */
export const expected = (what) => ({
    error: ({ input }) => `should be ${what}, got ${shown(input)}`,
});
/** A value of a file, in a message. */
export function shown(value) {
    const whole = JSON.stringify(value) ?? String(value);
    return whole.length > 100 ? `${whole.slice(0, 100)}...` : whole;
}
const positive = expected('a positive integer');
export const count = z.int(positive).positive(positive);
export const number = z.number(expected('a number'));
export const positiveNumber = z.number(expected('a positive number')).positive(expected('a positive number'));
export const flag = z.boolean(expected('true or false'));
export const text = z.string(expected('a string'));
/** What the schema makes of `raw`; the first field that does not fit is named. */
export function readFields(schema, raw, file) {
    const read = schema.safeParse(raw);
    if (read.success)
        return read.data;
    const { path, message } = read.error.issues[0];
    const name = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    throw new ModelError(`${file}: ${name.slice(1)} ${message}`);
}
//# sourceMappingURL=fields.js.map