/** Undefined where it is no address of an HTTP server. The text itself should not be shown: it may hold a password. */
export function parseServerUrl(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
        return undefined;
    const { username, password } = url;
    const given = username !== '' || password !== '';
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    url.username = '';
    url.password = '';
    const basic = Buffer.from(pair).toString('base64');
    return {
        url,
        authorization: given ? `Basic ${basic}` : undefined,
        secrets: [decodeURIComponent(password), ...(given ? [basic] : []), ...url.searchParams.values()],
    };
}
/** A URL as messages show it: without user, password, query and fragment. */
export function shownUrl(url) {
    return `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
}
/** Whether a header can hold the key; a library would refuse it with the key in its message. */
export function isApiKey(key) {
    return /^[\x21-\x7e]+$/.test(key);
}
//# sourceMappingURL=server-url.js.map