import { lookUp, RowProblem } from './fields.js';
import { isAssistant, messageText, readMessages } from './messages.js';
/** The prompt's column, in the template and behind the system prompt that the config gives. */
export function readPrompt(fields, options) {
    const { column, value } = fields.textOrList('prompt');
    if (typeof value !== 'string')
        return dressPrompt(readMessages(column, value), fields, options);
    if (value.trim() === '')
        throw new RowProblem(`${column}: empty; give it text, or leave the row out`, 'empty');
    // Alpaca's rows have what they are about in a column of its own.
    const about = column === 'instruction' && typeof fields.row.input === 'string' ? fields.row.input : '';
    return dressPrompt(about.trim() === '' ? value : `${value}\n\n${about}`, fields, options);
}
/** The prompt in the config's template. The system prompt of a text is the encoder's affair: a text has no messages yet. */
export function dressPrompt(prompt, fields, options) {
    const { promptTemplate } = options;
    if (typeof prompt === 'string')
        return promptTemplate ? fill(promptTemplate, prompt, fields) : prompt;
    const messages = withSystem(prompt, options);
    if (!promptTemplate)
        return messages;
    const last = messages.findLastIndex(({ role }) => role === 'user');
    return messages.map((message, i) => i === last ? { ...message, content: fill(promptTemplate, messageText(message), fields) } : message);
}
export function withSystem(messages, { systemPrompt }) {
    const has = messages.some(({ role }) => role === 'system' || role === 'developer');
    return has || systemPrompt === undefined ? messages : [{ role: 'system', content: systemPrompt }, ...messages];
}
function fill(template, prompt, fields) {
    return template.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (whole, name) => {
        if (name === undefined)
            return whole[0];
        if (name === 'prompt')
            return prompt;
        const value = lookUp(fields.row, name);
        if (value === undefined || value === null)
            throw new RowProblem(`${name}: missing, and promptTemplate asks for it; double the braces of a text that is no column`);
        return typeof value === 'string' ? value : JSON.stringify(value);
    });
}
/** An answer's column: a text, or messages that begin with the assistant's. */
export function readAnswer(fields, name) {
    const { column, value } = fields.textOrList(name);
    return checkAnswer(column, value);
}
export function checkAnswer(column, value) {
    if (typeof value === 'string') {
        if (value.trim() === '')
            throw new RowProblem(`${column}: empty; give it text, or leave the row out`, 'empty');
        return value;
    }
    // One message alone is as good as a list of one.
    const messages = readMessages(column, isMessage(value) ? [value] : value);
    if (!messages.some(isAssistant))
        throw new RowProblem(`${column}: no message of the assistant`, 'empty');
    return messages;
}
function isMessage(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value) && ('role' in value || 'from' in value);
}
//# sourceMappingURL=prompt.js.map