/** What a server says in an error: vLLM, SGLang and what stands before them have several bodies for it. */
const longest = 600;
export function serverWords(text) {
    return found(text).trim().replace(/\s+/g, ' ').slice(0, longest);
}
function found(text) {
    let body;
    try {
        body = JSON.parse(text);
    }
    catch {
        return text;
    }
    if (typeof body === 'string')
        return body;
    if (typeof body !== 'object' || body === null)
        return text;
    const { error, message, detail, error_message: failure } = body;
    if (typeof error === 'string')
        return error;
    if (typeof error === 'object' && error !== null && typeof error.message === 'string')
        return error.message;
    for (const words of [message, failure, detail])
        if (typeof words === 'string' && words !== '')
            return words;
    return text;
}
//# sourceMappingURL=server-words.js.map