/** Where in a response the answer is. */
/** The content of the last `\boxed{...}`, braces matched; undefined where there is none, or where it never closes. */
export function lastBoxed(text) {
    const start = [...text.matchAll(/\\f?boxed\s*\{/g)].at(-1);
    if (!start)
        return undefined;
    const from = start.index + start[0].length;
    const end = closingBrace(text, from);
    return end === undefined ? undefined : text.slice(from, end);
}
/** Where the brace that was opened before `from` closes. */
function closingBrace(text, from) {
    let depth = 1;
    for (let i = from; i < text.length; i++) {
        if (text[i] === '\\')
            i++;
        else if (text[i] === '{')
            depth++;
        else if (text[i] === '}' && --depth === 0)
            return i;
    }
    return undefined;
}
/** What follows the last `####`, to the end of its line: GSM8K's way to write the answer. */
export function afterHashes(text) {
    const at = text.lastIndexOf('####');
    if (at < 0)
        return undefined;
    const rest = text.slice(at + 4).trimStart();
    const line = rest.split(/\r?\n/, 1)[0].trim();
    return line === '' ? undefined : line;
}
/** The content of the last `<tag>...</tag>`. */
export function lastTag(text, tag) {
    const close = text.lastIndexOf(`</${tag}>`);
    if (close < 0)
        return undefined;
    const open = text.lastIndexOf(`<${tag}>`, close);
    return open < 0 ? undefined : text.slice(open + tag.length + 2, close).trim();
}
/** The last number in the text, with its sign, thousands separators and fraction. */
export function lastNumber(text) {
    const numbers = text.match(/(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s*\/\s*\d+)?(?:[eE][-+]?\d+)?|(?<![\w.])[-+]?\.\d+/g);
    return numbers?.at(-1);
}
//# sourceMappingURL=extract-answer.js.map