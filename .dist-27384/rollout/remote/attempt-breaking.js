/** How long an attempt that was told to end may take for it, */
const patienceMs = 2000;
/** and when it is told again. */
const againMs = 100;
export class AttemptBreaking {
    dialect;
    /** Told together, at the end of the turn. */
    names = new Map();
    constructor(dialect) {
        this.dialect = dialect;
    }
    /** All of a server, as far as it can; resolves when they have ended. */
    async all(replica, reason) {
        for (const running of replica.running)
            this.one(running, reason);
        await replica.quiet();
    }
    one(running, reason) {
        const { replica, attempt } = running;
        // A stream has given us what there is. A server without control routes notices the connection alone.
        if (attempt.transport === 'stream' || replica.facts.control !== 'full' || replica.state === 'down') {
            running.cancel(reason);
            return;
        }
        let names = this.names.get(replica);
        if (!names) {
            names = [];
            this.names.set(replica, names);
            setImmediate(() => this.send(replica));
        }
        names.push(attempt.id);
        running.isBrokenOff = true;
        setTimeout(() => running.cancel(reason), patienceMs).unref();
    }
    /** Until they have ended: a call to end a request may overtake the request itself. */
    send(replica) {
        const names = new Set(this.names.get(replica));
        this.names.delete(replica);
        const again = () => {
            const left = [...replica.running].filter(({ attempt }) => names.has(attempt.id));
            if (left.length === 0)
                return;
            const ids = left.map(({ attempt }) => attempt.id);
            this.dialect.abort(replica.server, ids).then(() => setTimeout(again, againMs).unref(), () => {
                for (const running of left)
                    running.cancel(running.task.isAborted ? 'aborted' : 'paused');
            });
        };
        again();
    }
}
//# sourceMappingURL=attempt-breaking.js.map