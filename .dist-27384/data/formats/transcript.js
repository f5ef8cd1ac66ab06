export const isTranscript = (text) => /^\s*Human:/.test(text) && /\n\nAssistant:/.test(text);
/** Turns in order; those that follow one of the same speaker are joined to it, as templates want speakers to alternate. */
export function readTranscript(text) {
    const marks = [...`\n\n${text.trimStart()}`.matchAll(/\n\n(Human|Assistant):/g)];
    const whole = `\n\n${text.trimStart()}`;
    const messages = [];
    for (const [i, mark] of marks.entries()) {
        const content = whole.slice(mark.index + mark[0].length, marks[i + 1]?.index).trim();
        const role = mark[1] === 'Human' ? 'user' : 'assistant';
        const last = messages.at(-1);
        if (last?.role === role)
            last.content = [last.content, content].filter(part => part !== '').join('\n\n');
        else
            messages.push({ role, content });
    }
    return messages;
}
//# sourceMappingURL=transcript.js.map