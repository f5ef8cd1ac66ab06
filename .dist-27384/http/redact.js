const hidden = '[hidden]';
/** Shorter ones would take ordinary words out of messages; nobody's key is that short. */
const shortest = 4;
/** Takes secrets out of texts that people and logs see. */
export function redactor(secrets) {
    const known = secrets
        .filter(secret => secret !== undefined && secret.length >= shortest)
        // As it is, and as a server may write it back.
        .flatMap(secret => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
        .sort((a, b) => b.length - a.length);
    return text => known.reduce((shown, secret) => shown.replaceAll(secret, hidden), text);
}
//# sourceMappingURL=redact.js.map