/**
 * An OpenAI-compatible server over an engine, with vLLM's further fields. Plain node:http: a handful of routes need no
 * framework, and what matters here (bounds, back-pressure, disconnects, draining) is below one.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Access, preflightHeaders } from './access.js';
import { Admission } from './admission.js';
import { chatCompletions } from './chat.js';
import { completions } from './completions.js';
import { adapterRoutes, controlRoutes } from './control/control-routes.js';
import { ServerControl } from './control/server-control.js';
import { WeightsRoot } from './control/weights-root.js';
import { EncodeQueue } from './encode-queue.js';
import { ApiError } from './errors.js';
import { Exchange } from './exchange.js';
import { generateTokens } from './generate-tokens.js';
import { InFlight } from './in-flight.js';
import { metricsText } from './metrics.js';
import { parseBody, readBody } from './read-body.js';
import { detokenize, model, models, tokenize } from './small-routes.js';
import { TokenTexts } from './token-text.js';
const open = new Set(['/health', '/metrics', '/version']);
const modelPrefix = '/v1/models/';
export class ModelServer {
    options;
    http;
    served;
    access;
    admission;
    body;
    control;
    controlRoutes;
    answered = new Map();
    active = 0;
    draining = false;
    idle;
    routes = {
        '/health': { GET: (_, exchange) => exchange.text(200, '') },
        '/version': { GET: (_, exchange) => exchange.json(200, { version: packageVersion() }) },
        '/metrics': {
            GET: ({ engine }, exchange) => {
                const { answered, active, admission } = this;
                exchange.text(200, metricsText(engine.counts, { answered, active, bytes: admission.bytes }), {
                    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
                });
            },
        },
        '/v1/models': { GET: models },
        '/v1/completions': { POST: completions },
        '/v1/chat/completions': { POST: chatCompletions },
        '/inference/v1/generate': { POST: generateTokens },
        '/tokenize': { POST: tokenize },
        '/detokenize': { POST: detokenize },
    };
    constructor(options, root) {
        this.options = options;
        const { engine, tokenizer, name, host = '127.0.0.1', apiKey, allowHosts = [], allowOrigins = [] } = options;
        const maxBytes = options.maxBodyBytes ?? 16 << 20;
        this.access = new Access({ apiKey, hosts: [host, ...allowHosts], origins: allowOrigins });
        this.body = { maxBytes, ...(options.bodyRate ?? { graceMs: 5000, minBytesPerSecond: 4096 }) };
        this.admission = new Admission({
            maxRequests: options.maxRequests ?? 512,
            maxSamples: options.maxSamples ?? 16_384,
            maxRequestBytes: options.maxRequestBytes ?? 256 * 2 ** 20,
            maxTotalBytes: options.maxTotalBytes ?? 2 ** 30,
            maxBodyBytes: 16 * maxBytes,
        });
        const inFlight = new InFlight(engine);
        const { control } = options;
        if (control) {
            const { weights, maxAdapters = 8 } = control;
            this.control = new ServerControl({ engine, weights, root, maxAdapters, name, inFlight });
        }
        this.controlRoutes = control ? { ...controlRoutes, ...(control.weights.takesAdapters ? adapterRoutes : {}) } : {};
        this.served = {
            name,
            engine,
            inFlight,
            turns: this.control?.turns,
            sets: this.control?.sets ?? new Map([[name, { name, adapter: undefined, source: undefined }]]),
            versionName: version => this.control?.versions.of(version) ?? `${version}`,
            tokenizer,
            encoder: tokenizer && new EncodeQueue(tokenizer),
            texts: new TokenTexts(tokenizer),
            logprobsMode: checkMode(options.logprobsMode ?? 'raw_logprobs', engine),
            limits: { vocabSize: engine.vocabSize, maxLength: engine.maxLength, eosIds: tokenizer?.stopIds ?? [] },
            started: Math.floor(Date.now() / 1000),
        };
        // A connection that sends nothing, or its headers too slowly, is closed; so is one whose body takes longer than this.
        const timeouts = { headersTimeout: 10_000, requestTimeout: 120_000, connectionsCheckingInterval: 1000 };
        this.http = createServer(timeouts, (request, response) => void this.handle(request, response));
        this.http.maxConnections = 4096;
    }
    /** Resolves when it listens. */
    static async start(options) {
        const { control, apiKey } = options;
        if (control && apiKey === undefined)
            throw new RangeError('control needs an API key: whoever reaches the server could change what it serves');
        const root = control?.weightsRoot === undefined ? undefined : await WeightsRoot.open(control.weightsRoot);
        const server = new ModelServer(options, root);
        const { http } = server;
        await new Promise((resolve, reject) => {
            http.once('error', reject);
            http.listen(options.port, options.host ?? '127.0.0.1', () => {
                http.off('error', reject);
                resolve();
            });
        });
        return server;
    }
    get port() {
        return this.http.address().port;
    }
    /** Takes no new request, lets those in flight end, and after `graceMs` ends them with what they have. */
    async close({ graceMs }) {
        this.draining = true;
        const closed = new Promise(resolve => this.http.close(() => resolve()));
        this.http.closeIdleConnections();
        if (this.active > 0) {
            let timer;
            await Promise.race([
                new Promise(resolve => {
                    this.idle = resolve;
                }),
                new Promise(resolve => {
                    timer = setTimeout(resolve, graceMs);
                }),
            ]);
            clearTimeout(timer);
        }
        if (this.active > 0) {
            this.served.inFlight.abortAll();
            // Answers that are ready get out; a client that does not read is not waited for.
            await new Promise(resolve => setTimeout(resolve, 250));
        }
        this.http.closeAllConnections();
        await closed;
        await this.control?.close();
    }
    async handle(request, response) {
        const { authority, path } = targetOf(request);
        const ticket = this.admission.ticket();
        const exchange = new Exchange(request, response, { stallMs: this.options.stallMs ?? 120_000, ticket });
        const known = path.startsWith(modelPrefix) ? modelPrefix : this.isKnown(path) ? path : 'other';
        this.active++;
        response.on('close', () => {
            this.active--;
            ticket.release();
            const key = `${known} ${response.statusCode}`;
            this.answered.set(key, (this.answered.get(key) ?? 0) + 1);
            if (this.active === 0)
                this.idle?.();
        });
        response.on('error', () => { });
        request.on('error', () => { });
        try {
            if (this.draining)
                throw new ApiError(503, 'the server is shutting down', { headers: { connection: 'close' } });
            const shared = this.access.check(request, authority);
            for (const [name, value] of Object.entries(shared))
                response.setHeader(name, value);
            if (request.method === 'OPTIONS' && shared.vary)
                return exchange.text(204, '', preflightHeaders);
            if (Object.hasOwn(this.controlRoutes, path))
                return await this.obey(this.controlRoutes[path], exchange, ticket);
            const route = this.routeOf(path);
            if (!route)
                return exchange.json(404, { detail: 'Not Found' });
            const action = route[request.method === 'HEAD' ? 'GET' : (request.method ?? '')];
            if (!action)
                return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: Object.keys(route).join(', ') });
            if (!open.has(path) && !this.access.authorized(request))
                return exchange.json(401, { error: 'Unauthorized' });
            if (request.method === 'POST')
                await this.take(exchange, ticket);
            await action(this.served, exchange);
        }
        catch (error) {
            this.refuse(exchange, error);
        }
    }
    isKnown(path) {
        return Object.hasOwn(this.routes, path) || Object.hasOwn(this.controlRoutes, path);
    }
    /** A control route takes no place among requests: a server that is full of them can still be paused. */
    async obey({ method, body, run }, exchange, ticket) {
        const { request } = exchange;
        if (request.method !== method)
            return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: method });
        if (!this.access.authorized(request))
            return exchange.json(401, { error: 'Unauthorized' });
        if (body === 'json')
            exchange.body = parseBody(await readBody(request, { ...this.body, maxBytes: 1 << 20 }, ticket));
        await run(this.control, exchange, this.served.inFlight);
    }
    routeOf(path) {
        if (Object.hasOwn(this.routes, path))
            return this.routes[path];
        const name = path.startsWith(modelPrefix) ? decoded(path.slice(modelPrefix.length)) : undefined;
        return name === undefined ? undefined : { GET: (served, exchange) => model(served, exchange, name) };
    }
    /** Reads the body. Only then the request has a place: one that still arrives keeps nobody out. */
    async take(exchange, ticket) {
        const bytes = await readBody(exchange.request, this.body, ticket);
        ticket.enter();
        exchange.body = parseBody(bytes);
    }
    refuse(exchange, error) {
        const { request, response, signal } = exchange;
        if (error instanceof ApiError) {
            const { headers = {} } = error.options;
            exchange.json(error.status, error.body, headers);
            // What is left of a body is not read; the connection ends with the answer.
            if (headers.connection === 'close')
                response.once('finish', () => request.destroy());
            return;
        }
        // Cut off before it was whole: nobody is there to answer.
        if (signal.aborted || !request.complete)
            return;
        console.error(error);
        if (response.headersSent)
            response.destroy();
        else
            exchange.json(500, new ApiError(500, 'internal error').body);
    }
}
/** Whom a request is for, and the path: `/path`, or as proxies are asked, `http://host/path`, which `Host` gives way to. */
function targetOf({ url = '/', headers }) {
    const [, authority, target] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
    const path = (target ?? url).split('?')[0];
    return { authority: authority ?? headers.host, path: path === '' ? '/' : path };
}
function decoded(text) {
    try {
        return decodeURIComponent(text);
    }
    catch {
        return undefined;
    }
}
function checkMode(mode, { capabilities }) {
    if (mode === 'processed_logprobs' && !capabilities.logprobs.includes('processed'))
        throw new RangeError('logprobsMode processed_logprobs: this engine does not give processed log-probabilities');
    return mode;
}
function packageVersion() {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    return JSON.parse(manifest).version;
}
//# sourceMappingURL=server.js.map