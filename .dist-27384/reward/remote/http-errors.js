import { parseRetryAfter, tlsProblem } from '../../http/index.js';
import { SourceError } from '../errors.js';
/** What a status other than 200 means for the samples that were asked about. */
export function statusError(where, status, headers, body) {
    const said = body.trim() === '' ? '' : `: ${body.trim().replace(/\s+/g, ' ').slice(0, 200)}`;
    const message = `${where} answered ${status}${said}`;
    const retryAfterMs = parseRetryAfter(headers['retry-after']);
    if (status === 429)
        return new SourceError('overloaded', message, { repeat: 'retryable', retryAfterMs });
    if (status >= 500 || status === 408)
        return new SourceError('server-error', message, { repeat: 'retryable', retryAfterMs });
    if (status === 401 || status === 403)
        return new SourceError('refused', `${message}. Check the API key (apiKey, or apiKeyEnv in a file).`);
    if (status === 404 || status === 405)
        return new SourceError('refused', `${message}. Check the URL's path and the dialect.`);
    if (status < 400)
        return new SourceError('protocol', `${message}; redirects are not followed`);
    return new SourceError('refused', message);
}
/** A connection that was not made, or broke: worth another attempt, unless it is the certificate that is not trusted. */
export function transportError(where, error, hide) {
    const { code, message } = error;
    const shown = hide(String(message ?? error));
    const cause = String(code ?? '');
    const shownCause = cause === '' ? '' : ` (${cause})`;
    const problem = tlsProblem(cause, shown);
    if (problem)
        return new SourceError('unreachable', `${where}: ${problem.what}${shownCause}. ${problem.remedy}`);
    const hint = /^HPE_/.test(cause) ? '. The answer is not HTTP: if the server speaks TLS, use https://.' : '';
    return new SourceError('unreachable', `${where}: ${shown}${shownCause}${hint}`, { repeat: 'retryable' });
}
//# sourceMappingURL=http-errors.js.map