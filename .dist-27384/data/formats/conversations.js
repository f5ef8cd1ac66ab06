/** Rows for supervised fine-tuning. */
import { z } from 'zod';
import { expected, RowProblem } from './fields.js';
import { needAssistant, readMessages } from './messages.js';
import { dressPrompt, readAnswer, readPrompt } from './prompt.js';
export function readConversation(fields, options) {
    const wants = (...names) => fields.mapped.length === 0 || fields.mapped.some(name => names.includes(name));
    if (wants('messages', 'tools') && fields.has('messages'))
        return fromMessages(fields, options);
    if (wants('prompt', 'completion') && fields.has('prompt') && fields.has('completion')) {
        const format = `${fields.find('prompt').column}, ${fields.find('completion').column}`;
        const prompt = readPrompt(fields, options);
        return { format, examples: [{ form: 'answer', prompt, answer: readAnswer(fields, 'completion') }] };
    }
    if (wants('text') && fields.has('text')) {
        const text = fields.text('text');
        if (text.trim() === '')
            throw new RowProblem('text: empty; give it text, or leave the row out', 'empty');
        return { format: 'text', examples: [{ form: 'text', text }] };
    }
    throw noFormat(fields, 'conversations', 'messages, conversations, prompt and completion, input and output, or text');
}
const tools = z.array(z.looseObject({}));
function fromMessages(fields, options) {
    const { column, value } = fields.list('messages');
    const messages = readMessages(column, value);
    needAssistant(column, messages);
    const dressed = dressPrompt(messages, fields, { ...options, promptTemplate: undefined });
    if (!fields.has('tools'))
        return { format: column, examples: [{ form: 'messages', messages: dressed }] };
    const found = fields.list('tools');
    const read = tools.safeParse(found.value);
    if (!read.success)
        throw expected(found.column, 'a list of JSON schemas', found.value);
    return { format: column, examples: [{ form: 'messages', messages: dressed, tools: read.data }] };
}
/** No format fits: what was expected, what is there, and how to say what is what. */
export function noFormat(fields, kind, wanted) {
    const { mapped, row } = fields;
    const columns = Object.keys(row);
    if (mapped.length > 0) {
        const missing = mapped.filter(name => !fields.has(name));
        if (missing.length > 0) {
            const names = missing.map(name => fields.find(name).column);
            return new RowProblem(`${names.join(', ')}: missing; the row has ${columns.join(', ') || 'no columns'}`);
        }
    }
    return new RowProblem(`no ${kind}: expected ${wanted}; the row has ${columns.join(', ') || 'no columns'}: say with columns which is which`);
}
//# sourceMappingURL=conversations.js.map