import { isAssistant, messageText } from './formats/messages.js';
import { withSystem } from './formats/prompt.js';
/** A row before it is encoded. */
export function renderRow(kind, row, options) {
    const sections = rowSections[kind](row, options);
    return { sections, length: charactersOf(sections) };
}
const rowSections = {
    conversations: (row, options) => {
        const all = options.trainOn === 'all';
        if (row.form === 'text')
            return [{ title: '', parts: [{ text: row.text, trained: true }] }];
        const parts = row.form === 'messages'
            ? messageParts(row.messages, message => all || isAssistant(message))
            : [...promptParts(row.prompt, options, all), ...answerParts(row.answer)];
        return [{ title: '', parts }];
    },
    preferences: (row, options) => [
        { title: 'prompt', parts: promptParts(row.prompt, options) },
        { title: 'chosen', parts: answerParts(row.chosen) },
        { title: 'rejected', parts: answerParts(row.rejected) },
    ],
    labelled: (row, options) => [
        { title: 'prompt', parts: promptParts(row.prompt, options) },
        { title: row.desirable ? 'desirable' : 'undesirable', parts: answerParts(row.answer) },
    ],
    prompts: (row, options) => promptSections(row, promptParts(row.prompt, options)),
};
function promptSections(row, parts) {
    const more = [
        { title: 'label', text: row.label },
        { title: 'reference', text: typeof row.reference === 'string' ? row.reference : row.reference?.join(' | ') },
    ];
    const told = more.flatMap(({ title, text }) => text === undefined ? [] : [{ title, parts: [{ text, trained: false }] }]);
    return [{ title: told.length > 0 ? 'prompt' : '', parts }, ...told];
}
function promptParts(prompt, options, trained = false) {
    const messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt;
    return messageParts(withSystem(messages, options), () => trained);
}
function answerParts(answer) {
    return typeof answer === 'string' ? [{ text: answer, trained: true }] : messageParts(answer, isAssistant);
}
function messageParts(messages, trained) {
    return messages.flatMap(message => [
        { text: `${message.role}: `, trained: false },
        { text: messageText(message), trained: trained(message) },
        { text: '\n', trained: false },
    ]);
}
const charactersOf = (sections) => sections.reduce((sum, { parts }) => sum + parts.reduce((inner, { text }) => inner + text.length, 0), 0);
export function renderExample(kind, example, tokenizer) {
    const rendering = exampleRenderings[kind];
    return rendering(example, tokenizer);
}
const exampleRenderings = {
    conversations: ({ ids, mask }, tokenizer) => tokenRendering(ids.length, async () => [{ title: '', parts: await maskedParts(ids, mask, tokenizer) }]),
    preferences: ({ chosen, rejected, promptLength }, tokenizer) => tokenRendering(Math.max(chosen.length, rejected.length), async () => [
        { title: 'prompt', parts: await tokenParts(chosen.subarray(0, promptLength), 'prompt', tokenizer) },
        { title: 'chosen', parts: await tokenParts(chosen.subarray(promptLength), 'trained', tokenizer) },
        { title: 'rejected', parts: await tokenParts(rejected.subarray(promptLength), 'trained', tokenizer) },
    ]),
    labelled: ({ ids, promptLength, desirable }, tokenizer) => tokenRendering(ids.length, async () => [
        { title: 'prompt', parts: await tokenParts(ids.subarray(0, promptLength), 'prompt', tokenizer) },
        {
            title: desirable ? 'desirable' : 'undesirable',
            parts: await tokenParts(ids.subarray(promptLength), 'trained', tokenizer),
        },
    ]),
    prompts: (example, tokenizer) => {
        const { prompt } = example;
        const text = typeof prompt === 'string' ? prompt : tokenizer.renderChat(prompt, { addGenerationPrompt: true });
        const length = async () => (typeof prompt === 'string'
            ? await tokenizer.encodePrompt(text)
            : await tokenizer.encode(text, { addSpecialTokens: false })).length;
        const render = async () => ({
            sections: promptSections(example, [{ text, trained: false }]),
            length: await length(),
        });
        return { length, render };
    },
};
function tokenRendering(length, sections) {
    return { length: async () => length, render: async () => ({ sections: await sections(), length }) };
}
async function tokenParts(ids, what, tokenizer) {
    return [{ text: await tokenizer.decode(ids), trained: what === 'trained' }];
}
/** Runs of tokens that are trained, and of those that are not. */
async function maskedParts(ids, mask, tokenizer) {
    const parts = [];
    for (let from = 0; from < ids.length;) {
        let to = from + 1;
        while (to < ids.length && mask[to] === mask[from])
            to++;
        parts.push({ text: await tokenizer.decode(ids.subarray(from, to)), trained: mask[from] === 1 });
        from = to;
    }
    return parts;
}
//# sourceMappingURL=render-row.js.map