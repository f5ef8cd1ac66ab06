/** One of the servers that share the work, and what is known of it. */
import { setTimeout as delay } from 'node:timers/promises';
const firstPauseMs = 1000;
const longestPauseMs = 30_000;
/** How long streams must say nothing to count as quiet, and how long that is waited for. */
const quietMs = 100;
const quietDeadlineMs = 2000;
export class Replica {
    server;
    maxInFlight;
    state = 'down';
    running = new Set();
    /** Of the weights it has; undefined: not known, or none that may be used. */
    version;
    /** The loaded adapter that new requests name. */
    adapter;
    /** Who it was when it was given them, where nothing else tells whether it still has them. */
    instance;
    /** It was put to sleep, and not woken since. */
    isAsleep = false;
    /** What its answers call the weights it was given. */
    markers = new Map();
    /** Why it gets no work although it answers: an update that it refused, a proof that failed. */
    unusable;
    /** Before this time it said not to be asked. */
    notBefore = 0;
    /** Failures without a success between them. */
    strikes = 0;
    /** Of attempts that ended, smoothed; how long a token takes a response, not the server. */
    msPerToken;
    lastUsed = performance.now();
    lastHeard = 0;
    /** It is being looked at: alive, and with which weights. */
    checking;
    downReason = 'not connected yet';
    retryAt = 0;
    pauseMs = firstPauseMs;
    known;
    constructor(server, maxInFlight) {
        this.server = server;
        this.maxInFlight = maxInFlight;
    }
    get url() {
        return this.server.url;
    }
    get facts() {
        return this.known;
    }
    set facts(facts) {
        this.known = facts;
    }
    get isConnected() {
        return this.known !== undefined;
    }
    get marksVersions() {
        return this.facts.marksVersions && this.facts.control === 'full';
    }
    /** Whether it can be given a request now. */
    hasRoom(now) {
        const most = this.state === 'up' ? this.maxInFlight : this.state === 'trial' ? 1 : 0;
        return (this.running.size < most &&
            !this.checking &&
            this.version !== undefined &&
            !this.unusable &&
            now >= this.notBefore);
    }
    /** Resolves when nothing is under way on it. */
    async quiet() {
        while (this.running.size > 0)
            await Promise.race([...this.running].map(({ done }) => done));
    }
    /** Resolves when what streams had under way to us has arrived. */
    async streamsQuiet() {
        for (const end = performance.now() + quietDeadlineMs; performance.now() < end;) {
            if (![...this.running].some(({ attempt }) => attempt.transport === 'stream'))
                return;
            const before = this.lastHeard;
            await delay(quietMs);
            if (this.lastHeard === before)
                return;
        }
    }
    succeeded(running, tokens) {
        this.strikes = 0;
        this.pauseMs = firstPauseMs;
        this.state = 'up';
        if (tokens === 0)
            return;
        const ms = (performance.now() - running.startedAt) / tokens;
        this.msPerToken = this.msPerToken === undefined ? ms : 0.8 * this.msPerToken + 0.2 * ms;
    }
    /** Down for a while, longer each time; its attempts are ended, to be made elsewhere. */
    drain(reason) {
        this.state = 'down';
        this.downReason = reason;
        this.strikes = 0;
        this.msPerToken = undefined;
        this.retryAt = performance.now() + this.pauseMs;
        this.pauseMs = Math.min(longestPauseMs, 2 * this.pauseMs);
        for (const attempt of [...this.running])
            attempt.cancel('drained');
    }
}
//# sourceMappingURL=replica.js.map