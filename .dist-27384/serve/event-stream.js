import { untilDrained } from './until-drained.js';
export class EventStream {
    response;
    options;
    pending = '';
    constructor(response, options) {
        this.response = response;
        this.options = options;
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    }
    /** Nobody is there to read. */
    get isClosed() {
        return this.response.destroyed || this.options.signal.aborted;
    }
    /** Goes out with `flush`, in one piece with what else is there. */
    add(event) {
        this.pending += `data: ${JSON.stringify(event)}\n\n`;
    }
    /** A promise where the client has to be waited for before it can take more. */
    flush() {
        const { pending, response } = this;
        this.pending = '';
        if (pending === '' || this.isClosed || response.write(pending))
            return undefined;
        return untilDrained(response, this.options);
    }
    end() {
        if (this.isClosed)
            return;
        this.response.end(`${this.pending}data: [DONE]\n\n`);
        this.pending = '';
    }
}
//# sourceMappingURL=event-stream.js.map