/** How long a replica that failed is left alone, at first; twice as long with each further failure. */
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Chooses among servers that do the same: one that is up, and of those one with the fewest requests, so that a slow one gets few. */
export class Replicas {
    now;
    states;
    next = 0;
    constructor(targets, now = () => performance.now()) {
        this.now = now;
        this.states = targets.map(target => ({ target, inFlight: 0, failures: 0, pausedUntil: 0 }));
    }
    /** Runs a request on one of them and remembers how it went. */
    async use(request, isServersFault) {
        const state = this.choose();
        state.inFlight++;
        try {
            const result = await request(state.target);
            state.failures = 0;
            state.pausedUntil = 0;
            return result;
        }
        catch (error) {
            if (isServersFault(error)) {
                state.pausedUntil = this.now() + Math.min(longestPauseMs, firstPauseMs * 2 ** state.failures);
                state.failures++;
            }
            throw error;
        }
        finally {
            state.inFlight--;
        }
    }
    /** Whether one of them is not known to be down. */
    get anyUp() {
        return this.states.some(state => state.pausedUntil <= this.now());
    }
    choose() {
        const now = this.now();
        const up = this.states.filter(state => state.pausedUntil <= now);
        // With all of them down, the one that has been left alone longest.
        const from = up.length > 0 ? up : [this.states.reduce((a, b) => (b.pausedUntil < a.pausedUntil ? b : a))];
        const fewest = Math.min(...from.map(state => state.inFlight));
        const candidates = from.filter(state => state.inFlight === fewest);
        return candidates[this.next++ % candidates.length];
    }
}
//# sourceMappingURL=replicas.js.map