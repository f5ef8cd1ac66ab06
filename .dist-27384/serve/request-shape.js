/**
 * The shape of a JSON body: every field that may be in one is *honoured* (it has a schema), *refused* (it would change the
 * answer in a way this server cannot; its neutral values pass), or *harmless* (whatever it says, the answer is the same).
 * There is no fourth kind: a field no table has is refused as unknown, so that a misspelt one does not go unnoticed. A
 * field that is null is one that was not given.
 */
import { z } from 'zod';
import { didYouMean } from '../errors/index.js';
import { badRequest, malformed } from './errors.js';
export const honoured = (schema, note = '') => ({ kind: 'honoured', schema, note });
/** Refused, except for values that say what happens anyway. */
export function refused(note, ...neutral) {
    const texts = neutral.map(value => JSON.stringify(value));
    return {
        kind: 'refused',
        note,
        isNeutral: value => texts.includes(JSON.stringify(value)),
        passes: texts.map(text => `\`${text}\``).join(', '),
    };
}
/** Refused, except where the body as a whole makes it neutral; `passes` says when that is. */
export const refusedUnless = (note, passes, isNeutral) => ({
    kind: 'refused',
    note,
    isNeutral,
    passes,
});
export const harmless = (note) => ({ kind: 'harmless', note });
/** Reads the fields of a table from bodies. `at` is where the object stands in one, for messages: `body.sampling_params`. */
export class RequestShape {
    table;
    at;
    schema;
    constructor(table, at = 'body') {
        this.table = table;
        this.at = at;
        const fields = Object.entries(table).flatMap(([name, rule]) => rule.kind === 'honoured' ? [[name, rule.schema.nullish().transform(value => value ?? undefined)]] : []);
        this.schema = z.object(Object.fromEntries(fields));
    }
    read(body) {
        for (const [name, value] of Object.entries(body)) {
            if (value === null)
                continue;
            const rule = Object.hasOwn(this.table, name) ? this.table[name] : undefined;
            if (!rule)
                throw this.unknown(name);
            if (rule.kind === 'refused' && !rule.isNeutral(value, body))
                throw badRequest(`${name} is not supported by this server: ${rule.note}.`, name);
        }
        const read = this.schema.safeParse(body);
        if (read.success)
            return read.data;
        const { path, message } = read.error.issues[0];
        throw malformed(`${path.join('.')}: ${message}`, [this.at, ...path].join('.'));
    }
    unknown(name) {
        const shown = name.slice(0, 100);
        const meant = didYouMean(shown, Object.keys(this.table));
        return badRequest(`Unrecognized request argument supplied: ${shown}${meant || '.'}`, shown);
    }
}
//# sourceMappingURL=request-shape.js.map