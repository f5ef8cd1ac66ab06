/** Deeper than anything a header or an index holds; keeps a hostile file from costing more memory than its size. */
const maxDepth = 16;
/**
 * `JSON.parse` for files others wrote. It refuses what `JSON.parse` lets through silently: a key that appears twice in one object
 * (the last one would win, so two readers could see two different files), and a key or string that is no Unicode text.
 * Throws a plain `Error` whose message continues a sentence such as "the header ...".
 */
export function parseStrictJson(bytes) {
    let text;
    try {
        text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    }
    catch (cause) {
        throw new Error('is not UTF-8', { cause });
    }
    let value;
    refuseDepth(text);
    try {
        value = JSON.parse(text);
    }
    catch (cause) {
        throw new Error('is not JSON', { cause });
    }
    refuseStrings(text);
    return value;
}
function refuseDepth(text) {
    let depth = 0;
    for (let at = 0; at < text.length; at++) {
        const character = text[at];
        if (character === '"')
            at = endOfString(text, at);
        else if (character === '{' || character === '[')
            depth++;
        else if (character === '}' || character === ']')
            depth--;
        if (depth > maxDepth)
            throw new Error(`is nested more than ${maxDepth} levels deep`);
    }
}
/** Walks the strings of valid JSON text. */
function refuseStrings(text) {
    const keysOfOpenObjects = [];
    for (let at = 0; at < text.length; at++) {
        const character = text[at];
        if (character === '{')
            keysOfOpenObjects.push(new Set());
        else if (character === '}')
            keysOfOpenObjects.pop();
        else if (character === '"') {
            const end = endOfString(text, at);
            const string = JSON.parse(text.slice(at, end + 1));
            if (hasLoneSurrogate(string))
                throw new Error(`has a string that is not Unicode text: ${JSON.stringify(string)}`);
            at = end;
            if (isKey(text, end)) {
                const keys = keysOfOpenObjects.at(-1);
                if (keys.has(string))
                    throw new Error(`has the key ${JSON.stringify(string)} twice`);
                keys.add(string);
            }
        }
    }
}
/** Half of a surrogate pair: JSON can spell it (`"\ud800"`), UTF-8 cannot. */
export function hasLoneSurrogate(string) {
    return /\p{Surrogate}/u.test(string);
}
/** Where the string that opens at `start` closes (the end of the text where it does not). */
function endOfString(text, start) {
    let at = start + 1;
    while (at < text.length && text[at] !== '"')
        at += text[at] === '\\' ? 2 : 1;
    return at;
}
function isKey(text, endOfKey) {
    let at = endOfKey + 1;
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t')
        at++;
    return text[at] === ':';
}
//# sourceMappingURL=strict-json.js.map