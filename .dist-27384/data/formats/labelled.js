/** Rows that say whether one answer is desirable. */
import { noFormat } from './conversations.js';
import { RowProblem } from './fields.js';
import { isAssistant, needAssistant, readMessages } from './messages.js';
import { readPreferences } from './preferences.js';
import { dressPrompt, readAnswer, readPrompt } from './prompt.js';
export function readLabelled(fields, options) {
    const label = fields.find('desirable').column;
    if (fields.has('desirable') && fields.has('messages')) {
        const { column, value } = fields.list('messages');
        const messages = readMessages(column, value);
        needAssistant(column, messages);
        const last = messages.findLastIndex(message => !isAssistant(message)) + 1;
        if (last === 0 || last === messages.length)
            throw new RowProblem(`${column}: expected a prompt, and the assistant's answer as the last message`);
        const prompt = dressPrompt(messages.slice(0, last), fields, options);
        return {
            format: `${column}, ${label}`,
            examples: [{ prompt, answer: messages.slice(last), desirable: fields.boolean('desirable') }],
        };
    }
    if (fields.has('desirable') && fields.has('prompt') && fields.has('completion')) {
        const format = `${fields.find('prompt').column}, ${fields.find('completion').column}, ${label}`;
        const desirable = fields.boolean('desirable');
        return {
            format,
            examples: [{ prompt: readPrompt(fields, options), answer: readAnswer(fields, 'completion'), desirable }],
        };
    }
    if (fields.has('chosen') && fields.has('rejected')) {
        const { format, examples } = readPreferences(fields, options);
        const both = examples.flatMap(({ prompt, chosen, rejected }) => [
            { prompt, answer: chosen, desirable: true },
            { prompt, answer: rejected, desirable: false },
        ]);
        return { format, examples: both };
    }
    throw noFormat(fields, 'labelled answers', 'prompt, completion and desirable (true or false), or prompt, chosen and rejected');
}
//# sourceMappingURL=labelled.js.map