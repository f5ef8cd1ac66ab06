/** The header `Retry-After` in milliseconds: seconds or a date; undefined for anything else. */
export function parseRetryAfter(header) {
    const text = Array.isArray(header) ? header[0] : header;
    if (text === undefined)
        return undefined;
    if (/^\d+(\.\d+)?$/.test(text.trim()))
        return Number(text) * 1000;
    const date = Date.parse(text);
    return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
//# sourceMappingURL=retry-after.js.map