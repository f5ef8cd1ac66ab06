/** How engines behind a network are connected to. */
import { isApiKey, parseServerUrl } from '../../http/index.js';
import { EngineError } from './errors.js';
/** An event as a line of text, which names its server. */
export const eventLine = ({ url, message }) => message.includes(url) ? message : `${url}: ${message}`;
const minute = 60_000;
export function resolveRemoteOptions(options) {
    const { urls, apiKey } = options;
    const resolved = {
        addresses: urls.map(parseUrl),
        vocabSize: options.vocabSize,
        tokenizer: options.tokenizer,
        model: options.model,
        modelDirectory: options.modelDirectory,
        apiKey,
        maxInFlight: options.maxInFlight ?? 256,
        requestTimeoutMs: options.requestTimeoutMs ?? 30 * minute,
        controlTimeoutMs: options.controlTimeoutMs ?? 10 * minute,
        patienceMs: options.patienceMs ?? 10 * minute,
        version: options.version ?? 0,
        serverPath: options.serverPath ?? (path => path),
        proofTolerance: options.proofTolerance,
        signal: options.signal,
        onEvent: options.onEvent ?? (() => { }),
    };
    if (urls.length === 0)
        throw new EngineError('urls: at least one server is needed');
    const seen = new Set(resolved.addresses.map(({ url }) => url.href));
    if (seen.size < urls.length)
        throw new EngineError('urls: a server is named twice');
    if (apiKey !== undefined && !isApiKey(apiKey))
        throw new EngineError('apiKey: it is empty or has spaces, line ends or other characters that no header can hold');
    for (const name of ['vocabSize', 'maxInFlight', 'requestTimeoutMs', 'controlTimeoutMs', 'patienceMs']) {
        const value = resolved[name];
        if (!Number.isSafeInteger(value) || value < 1)
            throw new RangeError(`${name} should be a positive integer, got ${value}`);
    }
    for (const name of ['requestTimeoutMs', 'controlTimeoutMs'])
        if (resolved[name] >= 2 ** 31)
            throw new RangeError(`${name} should be below 2^31, got ${resolved[name]}`);
    const { proofTolerance } = resolved;
    if (proofTolerance !== undefined && !(proofTolerance > 0))
        throw new RangeError(`proofTolerance should be above 0, got ${proofTolerance}`);
    return resolved;
}
function parseUrl(text, index) {
    const parsed = parseServerUrl(text);
    // The text itself is not shown: it may hold a password.
    if (!parsed)
        throw new EngineError(`urls: expected http:// or https:// and a host in url ${index + 1}`);
    return parsed;
}
//# sourceMappingURL=options.js.map