/** What a route gets: what is served, and one request with its answer. */
import { randomUUID } from 'node:crypto';
import { unknownModel } from './errors.js';
import { costOf } from './run-request.js';
import { writeJson } from './write-json.js';
/** The weights a request asks for by name; without one, the model's own. */
export function weightsOf({ name, sets }, asked) {
    const found = sets.get(asked ?? name);
    if (!found)
        throw unknownModel(asked ?? name);
    return found;
}
export class Exchange {
    request;
    response;
    created = Math.floor(Date.now() / 1000);
    body = {};
    /** Aborted when the client has gone. */
    signal;
    stallMs;
    ticket;
    constructor(request, response, { stallMs, ticket }) {
        this.request = request;
        this.response = response;
        this.stallMs = stallMs;
        this.ticket = ticket;
        const gone = new AbortController();
        response.on('close', () => {
            if (!response.writableFinished)
                gone.abort();
        });
        this.signal = gone.signal;
    }
    /** What stands after the path. */
    get query() {
        return new URLSearchParams((this.request.url ?? '').split('?')[1] ?? '');
    }
    /** The request's name: the client's, where it gave one. */
    id(given) {
        const header = this.request.headers['x-request-id'];
        return given ?? (typeof header === 'string' ? header : randomUUID().replaceAll('-', ''));
    }
    /** Takes what the request will hold, or throws; it is given back when the answer is out. */
    admit(request, { maxLength }) {
        this.ticket.admit(costOf(request, maxLength));
    }
    /** Answers with a value that may hold lazy lists. */
    answer(value) {
        return writeJson(this.response, value, this);
    }
    json(status, body, headers = {}) {
        this.text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
    }
    text(status, body, headers = {}) {
        if (this.response.headersSent || this.response.destroyed)
            return;
        this.response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers });
        this.response.end(body);
    }
}
//# sourceMappingURL=exchange.js.map