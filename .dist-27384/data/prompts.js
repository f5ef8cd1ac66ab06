import { RowFields, RowProblem } from './formats/fields.js';
import { readMessages } from './formats/messages.js';
import { BadRows, readRows } from './read-rows.js';
import { ColumnInference, checkRow, toZod } from './row-schema.js';
/**
 * Reads a prompt file. All bad rows are found before anything is returned, and are one error.
 *
 * @example
 * const schema = z.object({ question: z.string(), answer: z.string() })
 * const { prompts } = await readPrompts('gsm8k.jsonl', { schema, columns: { prompt: 'question', reference: 'answer' } })
 */
export async function readPrompts(file, options = {}) {
    const schema = options.schema ? toZod(options.schema) : undefined;
    const bad = new BadRows(file, options.listed);
    const inference = new ColumnInference();
    const prompts = [];
    const ids = new Map();
    for await (const located of readRows(file, bad, options)) {
        inference.add(located.row);
        const { where, row } = located;
        if (row.id !== undefined) {
            const first = ids.get(row.id);
            if (first !== undefined)
                bad.add(where, `id: ${JSON.stringify(row.id)} is that of ${first} already; ids are unique`);
            ids.set(row.id, where);
        }
        const prompt = toPrompt(located, schema, options.columns ?? {});
        const problem = typeof prompt === 'string' ? prompt : options.check?.(prompt);
        if (problem !== undefined)
            bad.add(where, problem);
        else if (typeof prompt !== 'string')
            prompts.push(prompt);
    }
    bad.throwIfAny();
    if (prompts.length === 0)
        bad.add(file, 'no rows');
    bad.throwIfAny();
    return { prompts, columns: inference.columns, description: inference.describe() };
}
/** A row as a prompt, or what is wrong with it. */
export function toPrompt({ row, where, values = 'typed' }, schema, columns) {
    const checked = schema ? checkRow(schema, row) : { row: row };
    if ('message' in checked)
        return checked.message;
    const fields = new RowFields(row, { columns: definedOf(columns), values });
    const prompt = orProblem(() => promptOf(fields, columns));
    if ('message' in prompt)
        return prompt.message;
    const label = labelOf(fields, columns);
    if ('message' in label)
        return label.message;
    const reference = referenceOf(fields, columns);
    if ('message' in reference)
        return reference.message;
    return {
        prompt: prompt.value,
        row: checked.row,
        where,
        ...(label.value === undefined ? {} : { label: label.value }),
        ...(reference.value === undefined ? {} : { reference: reference.value }),
    };
}
function promptOf(fields, { prompt: given }) {
    const names = given === undefined ? ['prompt', 'messages'] : ['prompt'];
    const name = names.find(one => fields.has(one));
    if (name === undefined) {
        const columns = Object.keys(fields.row).join(', ');
        return {
            message: given === undefined
                ? `no prompt: expected a column prompt, messages or input; say which of ${columns} it is`
                : `${given}: missing; the row has ${columns}`,
        };
    }
    const { column, value } = fields.textOrList(name);
    if (typeof value === 'string')
        return value.trim() === '' ? { message: `${column}: empty; give it text, or leave the row out` } : { value };
    if (Array.isArray(value) && value.length > 0 && value.every(isMessage))
        return { value: readMessages(column, value) };
    return { message: `${column}: expected a text, or a list of messages with a role and a content` };
}
function labelOf(fields, { label: given }) {
    const { column, value } = fields.find('label');
    if (value === undefined)
        return given === undefined ? { value: undefined } : { message: `${given}: missing; every row needs its label` };
    return typeof value === 'string' ? { value } : { message: `${column}: expected a text, the name of a recipe` };
}
function referenceOf(fields, { reference: given }) {
    const { column, value } = fields.find('reference');
    if (value === undefined)
        return given === undefined ? { value: undefined } : { message: `${given}: missing; every row needs its reference` };
    const text = (one) => typeof one === 'string' || typeof one === 'number';
    if (text(value))
        return { value: String(value) };
    if (Array.isArray(value) && value.every(text))
        return { value: value.map(String) };
    return { message: `${column}: expected a text, a number, or a list of them` };
}
function orProblem(read) {
    try {
        return read();
    }
    catch (error) {
        if (error instanceof RowProblem)
            return { message: error.message };
        throw error;
    }
}
const definedOf = (columns) => Object.fromEntries(Object.entries(columns).filter(([, column]) => column !== undefined));
function isMessage(value) {
    if (typeof value !== 'object' || value === null)
        return false;
    const { role, from } = value;
    return typeof role === 'string' || typeof from === 'string';
}
//# sourceMappingURL=prompts.js.map