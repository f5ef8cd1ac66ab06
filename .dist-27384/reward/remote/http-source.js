/** Reward models behind HTTP. */
import { Agent, request } from 'undici';
import { didYouMean } from '../../errors/index.js';
import { isApiKey, parseServerUrl, redactor, shownUrl } from '../../http/index.js';
import { RewardConfigError, SourceError } from '../errors.js';
import { defaultLimits, resolveLimits } from '../source.js';
import { dialectNames, dialects, oneAtATime } from './dialects.js';
import { statusError, transportError } from './http-errors.js';
import { Replicas } from './replicas.js';
/**
 * A reward model behind HTTP as a source.
 *
 * @example
 * const quality = httpReward({ name: 'quality', url: ['http://rm-0:8000', 'http://rm-1:8000'], dialect: 'vllm-classify', model: 'rm' })
 */
export function httpReward(options) {
    const { name, dialect: dialectName = 'lightrft', model, maxAnswerBytes = 64 << 20, tls } = options;
    const dialect = dialects[dialectName];
    if (!dialect)
        throw new RewardConfigError(`reward "${name}": there is no dialect "${dialectName}"${didYouMean(dialectName, dialectNames)} (there are: ${dialectNames.join(', ')})`);
    const { send = 'text' } = options;
    if (!dialect.sends.includes(send))
        throw new RewardConfigError(`reward "${name}": ${dialectName} takes ${dialect.sends.join(' or ')}, not ${send}`);
    const { labelTokenIds } = options;
    if ((dialectName === 'sglang-score') !== (labelTokenIds !== undefined && labelTokenIds.length > 0))
        throw new RewardConfigError(`reward "${name}": sglang-score needs labelTokenIds, and no other dialect takes them`);
    const urls = (typeof options.url === 'string' ? [options.url] : options.url).map(url => parseUrl(name, url, dialect));
    if (urls.length === 0)
        throw new RewardConfigError(`reward "${name}": url is an empty list`);
    const single = oneAtATime(dialectName, send) ? { batchSize: 1 } : {};
    const limits = resolveLimits(name, defaultLimits.remote, { ...options, ...single });
    const { apiKey, headers = {} } = options;
    checkApiKey(name, apiKey);
    const hide = redactor([apiKey, ...Object.values(headers), ...urls.flatMap(({ secrets }) => secrets)]);
    const connections = Number.isFinite(limits.concurrency) ? limits.concurrency : null;
    const dispatcher = new Agent({ connections, connect: { ...tls } });
    const replicas = new Replicas(urls);
    return {
        name,
        kind: 'remote',
        limits,
        async score(inputs, { signal }) {
            const body = JSON.stringify(dialect.body(inputs, { model, send, labelTokenIds }));
            const ask = async ({ url, authorization }) => {
                const auth = apiKey === undefined ? authorization : `Bearer ${apiKey}`;
                const answer = await post(url, {
                    body,
                    headers: { ...headers, ...(auth === undefined ? {} : { authorization: auth }) },
                    dispatcher,
                    signal,
                    maxAnswerBytes,
                    hide,
                });
                return dialect.read(answer, inputs.length);
            };
            try {
                return await replicas.use(ask, serversFault);
            }
            catch (error) {
                throw elsewhere(error, replicas, urls.length);
            }
        },
        close: () => dispatcher.destroy(),
    };
}
/** Anything but the request itself being wrong: another replica may do better. */
export function serversFault(error) {
    return !(error instanceof SourceError) || !['input', 'refused', 'aborted'].includes(error.reason);
}
/** A failure that another replica may not have is worth an attempt there: at once, where one is up. */
export function elsewhere(error, replicas, count) {
    if (!(error instanceof SourceError) || count === 1 || !serversFault(error))
        return error;
    const retryAfterMs = replicas.anyUp ? 0 : error.retryAfterMs;
    return new SourceError(error.reason, error.message, { repeat: 'retryable', retryAfterMs, cause: error.cause });
}
/** Refuses a key that no header can hold, before a library does so with the key in its message. */
export function checkApiKey(name, apiKey) {
    if (apiKey !== undefined && !isApiKey(apiKey))
        throw new RewardConfigError(`reward "${name}": the API key is empty or has spaces, line ends or other characters that no header can hold`);
}
function parseUrl(name, text, dialect) {
    const parsed = parseServerUrl(text);
    if (!parsed)
        throw new RewardConfigError(`reward "${name}": url: expected http:// or https:// and a host`);
    if (parsed.url.pathname === '/')
        parsed.url.pathname = dialect.path;
    return parsed;
}
async function post(url, { body, headers, dispatcher, signal, maxAnswerBytes, hide }) {
    const where = shownUrl(url);
    try {
        const response = await request(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
            body,
            dispatcher,
            signal,
            // The caller's signal bounds all of it.
            headersTimeout: 0,
            bodyTimeout: 0,
        });
        const text = await readBody(response.body, maxAnswerBytes, where);
        if (response.statusCode < 200 || response.statusCode > 299)
            throw statusError(where, response.statusCode, response.headers, hide(text));
        return parseAnswer(text, where, String(response.headers['content-type'] ?? 'no content type'));
    }
    catch (error) {
        throw error instanceof SourceError ? error : transportError(where, error, hide);
    }
}
async function readBody(body, maxBytes, where) {
    const chunks = [];
    let size = 0;
    for await (const chunk of body) {
        size += chunk.length;
        if (size > maxBytes)
            throw new SourceError('protocol', `${where}: an answer of more than ${maxBytes} bytes`);
        chunks.push(chunk);
    }
    try {
        return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    }
    catch (cause) {
        throw new SourceError('protocol', `${where}: the answer is not UTF-8`, { repeat: 'retryable', cause });
    }
}
/** Python writes NaN and Infinity where JSON has no word for them; the numbers beside them are still good. */
function withoutNaN(text) {
    const strings = text.split(/("(?:[^"\\]|\\.)*")/);
    return strings.map((part, i) => (i % 2 === 1 ? part : part.replace(/-?\b(?:NaN|Infinity)\b/g, 'null'))).join('');
}
function parseAnswer(text, where, contentType) {
    try {
        return JSON.parse(/NaN|Infinity/.test(text) ? withoutNaN(text) : text);
    }
    catch (cause) {
        const message = `${where}: the answer is not JSON (${contentType}, ${text.length} characters)`;
        throw new SourceError('protocol', message, { repeat: 'retryable', cause });
    }
}
//# sourceMappingURL=http-source.js.map