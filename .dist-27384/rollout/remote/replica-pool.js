/**
 * The servers and the samples that wait for them. Least loaded first, the samples of a prompt together where that costs no
 * waiting; a server that is dead or slow is drained, looked at again after a while, tried with one request, and back.
 */
import { randomUUID } from 'node:crypto';
import { AttemptBreaking } from './attempt-breaking.js';
import { nextMove } from './next-move.js';
import { ReplicaHealth } from './replica-health.js';
import { RunningAttempt } from './running-attempt.js';
import { StickyReplicas } from './sticky-replicas.js';
/** How often what takes too long is looked for. */
const tickMs = 250;
export class ReplicaPool {
    replicas;
    dialect;
    options;
    waiting = [];
    avoided = new WeakMap();
    sticky = new StickyReplicas();
    timer;
    /** Why nothing is sent: pauses, sleep, updates. */
    holds = 0;
    heldSince = 0;
    isClosed = false;
    /** Names of attempts are not used twice, by no other engine that asks the same server. */
    name = randomUUID().slice(0, 8);
    attempts = 0;
    /** Since when no server could be given work. */
    stuckSince;
    health;
    breaking;
    promptTokens = 0;
    generatedTokens = 0;
    constructor(replicas, dialect, options, hooks) {
        this.replicas = replicas;
        this.dialect = dialect;
        this.options = options;
        const { onEvent } = options;
        this.breaking = new AttemptBreaking(dialect);
        this.health = new ReplicaHealth(replicas, { dialect, hooks, onEvent, onChange: () => this.pump() });
    }
    /** From now on servers are looked after. */
    start() {
        this.timer = setInterval(() => this.tick(), tickMs);
        this.timer.unref();
    }
    get counts() {
        const running = this.replicas.reduce((sum, replica) => sum + replica.running.size, 0);
        const { waiting, promptTokens, generatedTokens } = this;
        return { running, waiting: waiting.length, promptTokens, generatedTokens };
    }
    submit(task) {
        if (task.isAborted || this.isClosed) {
            this.end(task);
            return;
        }
        this.waiting.push(task);
        this.pump();
    }
    /** Nothing is sent until as many `release`s. */
    hold() {
        if (this.holds++ === 0)
            this.heldSince = performance.now();
    }
    release() {
        if (--this.holds > 0)
            return;
        // Whoever was held is not slow.
        const heldMs = performance.now() - this.heldSince;
        for (const replica of this.replicas)
            for (const running of replica.running)
                running.excuse(heldMs);
        this.pump();
    }
    /** Ends a sample with what it has; a request under way is told so, and has a moment to answer with its tokens. */
    abort(task) {
        if (task.isAborted || task.outcome)
            return;
        task.isAborted = true;
        const at = this.waiting.indexOf(task);
        if (at >= 0) {
            this.waiting.splice(at, 1);
            this.end(task);
            return;
        }
        for (const replica of this.replicas)
            for (const running of replica.running)
                if (running.task === task)
                    this.breaking.one(running, 'aborted');
    }
    /** Ends attempts on a server so that what they have comes back, as far as the server can; resolves when all have ended. */
    breakOff(replica, reason) {
        return this.breaking.all(replica, reason);
    }
    drain(replica, reason) {
        this.health.drain(replica, reason);
    }
    close() {
        this.isClosed = true;
        clearInterval(this.timer);
        for (const task of this.waiting.splice(0))
            this.end(task);
        for (const replica of this.replicas)
            for (const running of [...replica.running])
                running.cancel('closed');
    }
    /** Gives work to whoever has room. Called whenever that may have changed. */
    pump() {
        if (this.holds === 0 && !this.isClosed)
            this.sendWaiting();
        // The process lives as long as a sample waits: with all servers away nothing else would hold it.
        if (this.waiting.length > 0)
            this.timer?.ref();
        else
            this.timer?.unref();
    }
    sendWaiting() {
        for (let i = 0; i < this.waiting.length;) {
            const task = this.waiting[i];
            const replica = this.choose(task);
            if (!replica) {
                // Those that avoid a server may wait while others do not.
                if (!this.avoided.has(task))
                    break;
                i++;
                continue;
            }
            this.waiting.splice(i, 1);
            this.send(task, replica);
        }
    }
    choose(task) {
        const now = performance.now();
        const free = this.replicas.filter(replica => replica.hasRoom(now) && !this.health.needsLook(replica, now));
        const avoided = this.avoided.get(task);
        const usable = this.replicas.some(replica => replica !== avoided && replica.state === 'up' && !replica.unusable);
        const candidates = usable ? free.filter(replica => replica !== avoided) : free;
        return this.sticky.choose(task.request.promptId, candidates);
    }
    send(task, replica) {
        const { dialect, options } = this;
        const attempt = task.nextAttempt(`whetstone-${process.pid}-${this.name}-${this.attempts++}`, replica.adapter, replica.facts);
        const running = new RunningAttempt(attempt, task, replica);
        replica.running.add(running);
        const before = task.record.length;
        if (before === 0)
            this.promptTokens += attempt.ids.length;
        const onTokens = (count) => {
            this.generatedTokens += count;
        };
        running.start({ dialect, vocabSize: options.vocabSize, timeoutMs: options.requestTimeoutMs, onTokens }, end => {
            replica.running.delete(running);
            replica.lastUsed = performance.now();
            this.settle(running, end);
            this.pump();
        });
    }
    /** What the end of an attempt means for its sample and its server. */
    settle(running, end) {
        const { task, replica } = running;
        this.avoided.delete(task);
        this.health.judge(running, end);
        const move = nextMove(running, end);
        switch (move.kind) {
            case 'finish':
                void task.finish(move.reason, move.stop, running.version);
                return;
            case 'fail':
                task.fail(move.reason, move.message);
                return;
            case 'reject':
                task.reject(move.message);
                return;
            case 'again':
                if (this.isClosed || task.isAborted)
                    this.end(task);
                else if (move.busy && task.isBusyTooLong(this.options.patienceMs))
                    task.fail('unreachable', move.busy);
                else {
                    if (move.elsewhere)
                        this.avoided.set(task, replica);
                    if (move.message !== undefined)
                        this.tell('retried', replica, move.message);
                    // It has waited: it goes on before those that have not begun.
                    this.waiting.unshift(task);
                }
        }
    }
    tick() {
        const now = performance.now();
        if (this.holds === 0)
            this.health.drainUnfit(now);
        this.health.bringBackDown(now);
        this.giveUpIfStuck(now);
        this.pump();
    }
    /** With no server to be had for too long, those that wait are told. */
    giveUpIfStuck(now) {
        const isUsable = this.replicas.some(replica => replica.state !== 'down' && !replica.unusable);
        if (this.holds > 0 || this.waiting.length === 0 || isUsable) {
            this.stuckSince = undefined;
            return;
        }
        this.stuckSince ??= now;
        if (now - this.stuckSince < this.options.patienceMs)
            return;
        const why = this.replicas.map(({ url, unusable, downReason }) => `${url}: ${unusable ?? downReason}`).join('; ');
        const message = `no server could be used for ${this.options.patienceMs / 1000} s (${why})`;
        for (const task of this.waiting.splice(0))
            task.fail('unreachable', message);
    }
    /** A sample that was ended has what came so far. */
    end(task) {
        const version = this.replicas.find(replica => replica.version !== undefined)?.version ?? this.options.version;
        void task.finish('abort', undefined, version);
    }
    tell(kind, { url }, message) {
        this.options.onEvent({ kind, url, message });
    }
}
//# sourceMappingURL=replica-pool.js.map