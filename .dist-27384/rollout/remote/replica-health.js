import { TransportError } from './errors.js';
/** An attempt is never too slow before this, */
const slowestMs = 5000;
/** and not before it takes this many times as long as it would elsewhere. */
const slowFactor = 8;
/** After this long without work a server may be another than it was. */
const idleMs = 1000;
const readinessMs = 2000;
const strikesToDrain = 3;
export class ReplicaHealth {
    replicas;
    options;
    constructor(replicas, options) {
        this.replicas = replicas;
        this.options = options;
    }
    /** What the end of an attempt says about its server. */
    judge(running, end) {
        const { replica } = running;
        if (replica.state === 'down')
            return;
        if (end.kind === 'ended') {
            if (replica.state === 'trial')
                this.tell('back', replica, 'takes work again');
            replica.succeeded(running, end.tokens);
        }
        else if (end.kind === 'other-weights')
            this.drain(replica, end.message);
        else if (end.kind === 'refused') {
            const { refusal } = end;
            if (refusal.kind === 'unknown-weights')
                this.drain(replica, refusal.message);
            if (refusal.kind !== 'retry')
                return;
            if (refusal.afterMs !== undefined || end.status === 429)
                this.backOff(replica, refusal.afterMs);
            else
                this.strike(replica, refusal.message);
        }
        else if (end.kind === 'failed') {
            const { error } = end;
            if ('kind' in error && error.kind === 'unreachable')
                this.suspect(replica, error.message);
            else
                this.strike(replica, error.message);
        }
    }
    /** One that was idle is looked at before it gets work. Starts the look, and answers that there is one. */
    needsLook(replica, now) {
        if (replica.running.size > 0 || now - replica.lastUsed < idleMs)
            return false;
        const look = this.options.hooks.verify(replica, 'idle');
        if (!look)
            return false;
        this.check(replica, look);
        return true;
    }
    drain(replica, reason) {
        if (replica.state === 'down')
            return;
        replica.drain(reason);
        this.tell('drained', replica, reason);
    }
    /** Those that take too long, or that an update overtook between their coming back and their first work. */
    drainUnfit(now) {
        for (const replica of this.replicas) {
            if (replica.state === 'down')
                continue;
            const { version, unusable, checking } = replica;
            if (version === undefined && !unusable && !checking)
                this.drain(replica, 'it may not have the weights it should have');
            else
                this.drainIfSlow(replica, now);
        }
    }
    drainIfSlow(replica, now) {
        const others = this.replicas.filter(other => other !== replica && other.state === 'up' && !other.unusable);
        const best = Math.min(...others.map(({ msPerToken = Number.POSITIVE_INFINITY }) => msPerToken));
        if (!Number.isFinite(best))
            return;
        const seconds = (ms) => (ms / 1000).toFixed(1);
        for (const { startedAt, attempt } of replica.running) {
            const elsewhere = best * attempt.maxNewTokens;
            const took = now - startedAt;
            if (took <= Math.max(slowestMs, slowFactor * elsewhere))
                continue;
            const reason = `too slow: an answer takes more than ${seconds(took)} s, elsewhere ${seconds(elsewhere)} s`;
            this.drain(replica, reason);
            return;
        }
    }
    /** Looks again at those that have been left alone for long enough. */
    bringBackDown(now) {
        for (const replica of this.replicas)
            if (replica.state === 'down' && !replica.checking && now >= replica.retryAt)
                this.bringBack(replica);
    }
    bringBack(replica) {
        const look = async () => {
            try {
                await this.options.hooks.recover(replica);
                replica.state = 'trial';
            }
            catch (error) {
                const { message } = error;
                // That it is still away is no news; that it answers, and cannot be used, is.
                if (!(error instanceof TransportError) && message !== replica.downReason)
                    this.tell('drained', replica, message);
                replica.drain(message);
            }
        };
        this.check(replica, look());
    }
    check(replica, look) {
        replica.checking = look
            .catch((error) => this.drain(replica, error.message))
            .finally(() => {
            replica.checking = undefined;
            replica.lastUsed = performance.now();
            this.options.onChange();
        });
    }
    backOff(replica, afterMs = 1000) {
        const wait = Math.min(Math.max(afterMs, 50), 60_000);
        replica.notBefore = Math.max(replica.notBefore, performance.now() + wait);
        setTimeout(this.options.onChange, wait + 1).unref();
    }
    strike(replica, reason) {
        if (++replica.strikes >= strikesToDrain || replica.state === 'trial')
            this.drain(replica, reason);
        else
            this.backOff(replica, 100 * 2 ** replica.strikes);
    }
    /** A connection broke. One that was idle too long is no sign; a server that does not answer is, and one that was started anew. */
    suspect(replica, reason) {
        const { dialect, hooks } = this.options;
        if (++replica.strikes >= 2 * strikesToDrain || replica.state === 'trial')
            this.drain(replica, reason);
        if (replica.state === 'down' || replica.checking)
            return;
        const look = async () => {
            const asked = dialect.isReady(replica.server);
            const late = new Promise(resolve => setTimeout(() => resolve(false), readinessMs).unref());
            if (!(await Promise.race([asked, late])))
                throw new Error(reason);
            await hooks.verify(replica, 'broken');
        };
        this.check(replica, look());
    }
    tell(kind, { url }, message) {
        this.options.onEvent({ kind, url, message });
    }
}
//# sourceMappingURL=replica-health.js.map