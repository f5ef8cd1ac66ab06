import { readConversation } from './formats/conversations.js';
import { RowFields, RowProblem } from './formats/fields.js';
import { readLabelled } from './formats/labelled.js';
import { readPreferences } from './formats/preferences.js';
import { dressPrompt } from './formats/prompt.js';
import { toPrompt } from './prompts.js';
import { asRow } from './read-rows.js';
import { hashRow } from './row-id.js';
const rowReaders = {
    conversations: { bare: 'text', read: readConversation },
    preferences: { bare: undefined, read: readPreferences },
    labelled: { bare: undefined, read: readLabelled },
    prompts: {
        bare: 'prompt',
        read(fields, options, where) {
            const { columns, values } = fields.options;
            const prompt = toPrompt({ row: fields.row, where, values }, undefined, columns);
            if (typeof prompt === 'string')
                throw new RowProblem(prompt);
            const { column } = fields.find(fields.has('prompt') ? 'prompt' : 'messages');
            return { format: column, examples: [{ ...prompt, prompt: dressPrompt(prompt.prompt, fields, options) }] };
        },
    },
};
/** A value of a file as a row of a kind, or what is wrong with it. */
export function readRowAs(kind, { value, where }, options) {
    const { bare, read } = rowReaders[kind];
    const checked = asRow(value, bare);
    if ('message' in checked)
        return { kind: 'bad', reason: 'format', message: checked.message };
    try {
        const hash = hashRow(checked.row);
        return { kind: 'row', hash, ...read(new RowFields(checked.row, options), options, where) };
    }
    catch (error) {
        if (!(error instanceof RowProblem))
            throw error;
        return { kind: 'bad', reason: error.reason, message: error.message };
    }
}
//# sourceMappingURL=row-readers.js.map