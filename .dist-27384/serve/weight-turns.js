import { unknownModel } from './errors.js';
export class WeightTurns {
    base;
    exchange;
    current;
    inside = 0;
    held = false;
    exchanging = false;
    queue = [];
    whenEmpty = [];
    /** Sets that are no longer to be had, until nothing uses them. */
    retired = new Set();
    gone = new WeakSet();
    constructor(base, 
    /** Makes the engine sample from a set; nothing is under way. */
    exchange) {
        this.base = base;
        this.exchange = exchange;
        this.current = base;
    }
    /** Resolves when it is the set's turn, with what must be called when the work is done. A signal ends the waiting. */
    async enter(set, signal) {
        signal.throwIfAborted();
        // It was taken back between the request's arrival and this.
        if (this.gone.has(set))
            throw unknownModel(set.name);
        if (this.canEnter(set))
            this.inside++;
        else
            await this.wait(set, signal);
        let left = false;
        return () => {
            if (left)
                return;
            left = true;
            this.inside--;
            this.advance();
        };
    }
    /** Nobody enters any more; see `release`. */
    hold() {
        this.held = true;
    }
    release() {
        this.held = false;
        this.advance();
    }
    /** Resolves when nobody is inside. */
    async empty() {
        while (this.inside > 0 || this.exchanging)
            await new Promise(resolve => this.whenEmpty.push(resolve));
    }
    /** Requests that have it end with it; then it is disposed. Whoever calls this no longer gives it to new ones. */
    retire(set) {
        this.retired.add(set);
        this.advance();
    }
    canEnter(set) {
        return !this.held && !this.exchanging && this.queue.length === 0 && set === this.current;
    }
    wait(set, signal) {
        return new Promise((resolve, reject) => {
            const stop = () => {
                this.queue.splice(this.queue.indexOf(waiting), 1);
                reject(signal.reason);
                this.advance();
            };
            const waiting = {
                set,
                admit: () => {
                    signal.removeEventListener('abort', stop);
                    this.inside++;
                    resolve();
                },
                fail: error => {
                    signal.removeEventListener('abort', stop);
                    reject(error);
                },
            };
            signal.addEventListener('abort', stop);
            this.queue.push(waiting);
            this.advance();
        });
    }
    advance() {
        if (this.exchanging)
            return;
        this.disposeRetired();
        if (!this.held)
            while (this.queue[0] && this.queue[0].set === this.current)
                this.queue.shift().admit();
        if (this.inside > 0)
            return;
        const next = this.held ? undefined : this.queue[0]?.set;
        if (next)
            void this.change(next);
        else if (this.current && this.retired.has(this.current) && this.queue.length === 0)
            void this.change(this.base);
        else
            for (const wake of this.whenEmpty.splice(0))
                wake();
    }
    async change(set) {
        this.exchanging = true;
        try {
            await this.exchange(set);
            this.current = set;
        }
        catch (error) {
            // What the engine has now is not known: the next one asks for its set again.
            this.current = undefined;
            for (const waiting of this.take(set))
                waiting.fail(error);
        }
        this.exchanging = false;
        if (!this.held && this.current === set)
            for (const waiting of this.take(set))
                waiting.admit();
        this.advance();
    }
    /** Takes everyone who waits for a set, wherever they stand. */
    take(set) {
        const found = this.queue.filter(waiting => waiting.set === set);
        const others = this.queue.filter(waiting => waiting.set !== set);
        this.queue.splice(0, this.queue.length, ...others);
        return found;
    }
    disposeRetired() {
        for (const set of this.retired) {
            if (set === this.current || this.queue.some(waiting => waiting.set === set))
                continue;
            this.retired.delete(set);
            this.gone.add(set);
            set.adapter?.dispose();
        }
    }
}
//# sourceMappingURL=weight-turns.js.map