import { EngineError } from './remote/errors.js';
const done = { value: undefined, done: true };
export class OutcomeStream {
    options;
    source;
    /** `open`: requests are taken. `sealed`: no more of them. `over`: nothing more comes. */
    state = 'open';
    /** A request is being waited for, or taken. */
    pulling = false;
    aborts = new Set();
    samples = 0;
    unread = [];
    readers = [];
    failure;
    onAbort = () => {
        this.seal('unfinished');
        this.abortAll();
        this.settle();
    };
    constructor(options) {
        this.options = options;
        const { requests, signal } = options;
        this.source = Symbol.asyncIterator in requests ? requests[Symbol.asyncIterator]() : requests[Symbol.iterator]();
        if (signal?.aborted || options.asleep) {
            this.fail(signal?.aborted
                ? signal.reason
                : new EngineError('the engine is asleep and generates nothing; wake() it first'));
            return;
        }
        signal?.addEventListener('abort', this.onAbort);
        this.pull();
    }
    get hasRoom() {
        const { samples, unread } = this.options.room;
        return this.state === 'open' && this.samples < samples && this.unread.length < unread;
    }
    pull() {
        if (this.pulling)
            return;
        this.pulling = true;
        try {
            while (this.hasRoom) {
                const found = this.source.next();
                if (!('then' in found))
                    this.take(found);
                else {
                    this.wait(found);
                    return;
                }
            }
        }
        catch (error) {
            this.fail(error);
        }
        this.pulling = false;
    }
    wait(found) {
        const go = (take) => {
            this.pulling = false;
            if (this.state !== 'open')
                return;
            try {
                take();
            }
            catch (error) {
                this.fail(error);
            }
            this.pull();
        };
        found.then(result => go(() => this.take(result)), error => go(() => this.fail(error)));
    }
    take(found) {
        if (found.done) {
            this.seal('finished');
            this.settle();
            return;
        }
        const { value: request } = found;
        const count = request.n ?? 1;
        let left = count;
        const abort = this.options.submit(request, outcome => {
            if (--left === 0)
                this.aborts.delete(abort);
            this.samples--;
            this.push(outcome);
        });
        this.samples += count;
        this.aborts.add(abort);
    }
    push(outcome) {
        if (this.state === 'over')
            return;
        const reader = this.readers.shift();
        if (reader)
            reader.resolve({ value: outcome, done: false });
        else
            this.unread.push(outcome);
        this.pull();
        this.settle();
    }
    /** No more requests are taken; a source that has more is told so. */
    seal(source) {
        if (this.state !== 'open')
            return;
        this.state = 'sealed';
        // It may be waiting for something that never comes, so it is not awaited.
        if (source === 'unfinished')
            Promise.resolve(this.source.return?.()).catch(() => { });
    }
    abortAll() {
        for (const abort of [...this.aborts])
            abort();
    }
    settle() {
        if (this.state === 'sealed' && this.samples === 0 && this.unread.length === 0)
            this.end();
    }
    end() {
        this.state = 'over';
        this.options.signal?.removeEventListener('abort', this.onAbort);
        this.abortAll();
        for (const { resolve, reject } of this.readers.splice(0)) {
            if (this.failure)
                reject(this.failure.error);
            else
                resolve(done);
            this.failure = undefined;
        }
    }
    /** What is under way is cancelled. Outcomes that wait are still read; then comes the error. */
    fail(error) {
        this.seal('unfinished');
        if (this.state === 'over')
            return;
        this.failure = { error };
        this.end();
    }
    next() {
        const outcome = this.unread.shift();
        if (outcome) {
            this.pull();
            this.settle();
            return Promise.resolve({ value: outcome, done: false });
        }
        if (this.state !== 'over')
            return new Promise((resolve, reject) => this.readers.push({ resolve, reject }));
        const { failure } = this;
        this.failure = undefined;
        return failure ? Promise.reject(failure.error) : Promise.resolve(done);
    }
    return() {
        this.seal('unfinished');
        this.unread.length = 0;
        this.failure = undefined;
        if (this.state !== 'over')
            this.end();
        return Promise.resolve(done);
    }
    [Symbol.asyncIterator]() {
        return this;
    }
}
//# sourceMappingURL=outcome-stream.js.map