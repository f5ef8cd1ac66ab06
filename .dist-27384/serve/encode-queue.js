/** Characters that are encoded in about a millisecond. */
const short = 4096;
export class EncodeQueue {
    tokenizer;
    atOnce;
    running = 0;
    waiting = [];
    constructor(tokenizer, atOnce = 2) {
        this.tokenizer = tokenizer;
        this.atOnce = atOnce;
    }
    async encode(text, options) {
        if (text.length <= short)
            return this.tokenizer.encodeUpTo(text, options);
        await this.turn(options.signal);
        try {
            return await this.tokenizer.encodeUpTo(text, options);
        }
        finally {
            this.running--;
            this.waiting.shift()?.();
        }
    }
    /** Resolves when it may run; a caller that has gone waits no longer. */
    turn(signal) {
        signal?.throwIfAborted();
        if (this.running < this.atOnce) {
            this.running++;
            return Promise.resolve();
        }
        return new Promise((resolve, reject) => {
            const start = () => {
                signal?.removeEventListener('abort', leave);
                this.running++;
                resolve();
            };
            const leave = () => {
                this.waiting.splice(this.waiting.indexOf(start), 1);
                reject(signal.reason);
            };
            this.waiting.push(start);
            signal?.addEventListener('abort', leave, { once: true });
        });
    }
}
//# sourceMappingURL=encode-queue.js.map