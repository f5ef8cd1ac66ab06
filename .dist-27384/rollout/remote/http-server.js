/**
 * One server behind HTTP: connections that are kept and reused, a deadline on every exchange, bounded answers. undici's own
 * timeouts are off: they end long generations after five minutes.
 */
import { Pool } from 'undici';
import { redactor, shownUrl } from '../../http/index.js';
import { ProtocolError, TransportError } from './errors.js';
import { readingSlot } from './reading-slots.js';
/** Larger answers are refused. */
const maxAnswerBytes = 256 << 20;
/** Servers close idle connections after 5 seconds; one that is closed while we send is an error we need not have. */
const keepAliveTimeout = 4000;
const spareConnections = 8;
const nothing = () => { };
export class HttpServer {
    options;
    url;
    sendsKey;
    /** Takes secrets out of a text. */
    hide;
    pool;
    prefix;
    query;
    headers;
    constructor(options) {
        this.options = options;
        const { address, apiKey, maxInFlight } = options;
        const { url, authorization, secrets } = address;
        this.url = shownUrl(url);
        this.hide = redactor([apiKey, ...secrets]);
        this.prefix = url.pathname.replace(/\/$/, '');
        this.query = url.search;
        const auth = apiKey === undefined ? authorization : `Bearer ${apiKey}`;
        this.sendsKey = auth !== undefined;
        this.headers = { 'content-type': 'application/json', ...(auth === undefined ? {} : { authorization: auth }) };
        this.pool = new Pool(url.origin, {
            connections: maxInFlight + spareConnections,
            pipelining: 1,
            keepAliveTimeout,
            keepAliveMaxTimeout: keepAliveTimeout,
            headersTimeout: 0,
            bodyTimeout: 0,
        });
    }
    async request(method, path, { body, timeoutMs = this.options.controlTimeoutMs, signal } = {}) {
        const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) };
        const exchange = this.exchange({ method, path, timeoutMs, ...sent });
        signal?.addEventListener('abort', exchange.cancel);
        try {
            const { status, text } = await exchange.reply;
            return { status, text: this.hide(text) };
        }
        finally {
            signal?.removeEventListener('abort', exchange.cancel);
        }
    }
    /** Without promises but one: a rollout makes very many of these. */
    exchange({ method, path, body, timeoutMs, reads, onPiece }) {
        let cancel = () => { };
        const reply = new Promise((resolve, reject) => {
            let controller;
            let isSettled = false;
            let status = 0;
            let retryAfter;
            let bytes = 0;
            const pieces = [];
            let slot;
            const settle = () => {
                if (isSettled)
                    return false;
                isSettled = true;
                clearTimeout(timer);
                return true;
            };
            const fail = (error) => {
                if (!settle())
                    return;
                slot?.release();
                reject(error);
                controller?.abort(error);
            };
            const timer = setTimeout(() => fail(new TransportError('timeout', `${this.url}${path}: no answer within ${timeoutMs / 1000} s`)), timeoutMs);
            cancel = () => fail(new TransportError('cancelled', `${this.url}${path}: cancelled`));
            this.pool.dispatch({
                method,
                path: this.prefix + path + (this.query === '' ? '' : path.includes('?') ? `&${this.query.slice(1)}` : this.query),
                headers: this.headers,
                body: body ?? null,
            }, {
                onRequestStart: started => {
                    if (isSettled)
                        started.abort(new Error('settled'));
                    else
                        controller = started;
                },
                onResponseStart: (answering, code, headers) => {
                    status = code;
                    if (reads)
                        slot = readingSlot(() => answering.resume());
                    if (slot?.waits)
                        answering.pause();
                    const header = headers['retry-after'];
                    retryAfter = Array.isArray(header) ? header[0] : header;
                },
                onResponseData: (_, piece) => {
                    bytes += piece.length;
                    if (bytes > maxAnswerBytes)
                        fail(new ProtocolError(`${this.url}${path}: an answer of more than ${maxAnswerBytes} bytes`));
                    else if (onPiece && status === 200) {
                        try {
                            onPiece(piece);
                        }
                        catch (error) {
                            fail(error);
                        }
                    }
                    else
                        pieces.push(piece);
                },
                onResponseEnd: () => {
                    if (!settle())
                        return;
                    const text = pieces.length === 1 ? pieces[0].toString('utf8') : Buffer.concat(pieces, bytes).toString('utf8');
                    // The connection keeps this handler until its next request.
                    pieces.length = 0;
                    resolve({ status, retryAfter, text, release: slot?.release ?? nothing });
                },
                onResponseError: (_, error) => fail(this.broken(path, error)),
            });
        });
        return { reply, cancel };
    }
    close() {
        return this.pool.destroy();
    }
    broken(path, error) {
        const { code, message } = error;
        const cause = String(code ?? '');
        const certificate = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|SSL/.test(cause);
        const shown = this.hide(String(message ?? error));
        return new TransportError('unreachable', `${this.url}${path}: ${shown}${cause === '' ? '' : ` (${cause})`}`, {
            ...(certificate ? { remedy: 'Name its certificate authority in NODE_EXTRA_CA_CERTS.' } : {}),
        });
    }
}
//# sourceMappingURL=http-server.js.map