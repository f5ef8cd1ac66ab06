import { SourceError } from '../errors.js';
import { defaultLimits } from '../source.js';
import { RewardProcess } from './reward-process.js';
/** Of the options that rewards are loaded with, those for files. */
export function fileOptionsOf(options) {
    const { tokenizer, workers, patienceMinutes, signal } = options;
    return { tokenizer: tokenizer?.dir, workers, patienceMinutes, signal };
}
/** What an engine is made of, from a module. Closing any of its sources ends the processes. */
export async function openRewardFile(file, options = {}) {
    const { tokenizer, workers = 1, patienceMinutes = 10, signal } = options;
    const pool = new Pool({ file, tokenizer, loadMs: patienceMinutes * 60_000, signal }, workers);
    const { form, sources, aggregates, events, ...plain } = await pool.open();
    const made = sources.map((source, place) => sourceOf(source, place, pool, workers));
    const told = events.map(name => [name, (event) => pool.tell(name, event)]);
    return {
        form,
        options: {
            ...plain,
            ...Object.fromEntries(told),
            sources: made,
            ...(aggregates ? { rewardFn: aggregatorOf(sources.length, pool) } : {}),
        },
    };
}
function sourceOf({ name, kind, limits, needsReference, asksModel }, place, pool, workers) {
    return {
        name,
        kind,
        // One call at a time would leave all processes but one without work.
        limits: kind === 'function' ? { ...limits, concurrency: Math.max(limits.concurrency, workers) } : limits,
        ...(needsReference ? { needsReference } : {}),
        ...(asksModel ? { model: {} } : {}),
        isolated: true,
        score: (items, context) => pool.score(place, items, context),
        close: () => pool.close(),
    };
}
/** As a function, for the options of an engine; as a source, for the engine that asks it. */
function aggregatorOf(place, pool) {
    const source = {
        name: 'rewardFn',
        kind: 'function',
        limits: defaultLimits.batchFunction,
        isolated: true,
        score: (items, context) => pool.score(place, items, context),
        close: () => pool.close(),
    };
    const fn = () => {
        throw new Error('the reward function of a file is asked through its process');
    };
    return Object.assign(fn, { source });
}
class Pool {
    options;
    processes;
    /** Calls that wait for a process. */
    waiting = [];
    starting = 0;
    closed = false;
    constructor(options, workers) {
        this.options = options;
        this.processes = new Array(workers).fill(undefined);
    }
    async open() {
        const opened = await Promise.allSettled(this.processes.map((_, place) => this.start(place)));
        const failed = opened.find(one => one.status === 'rejected');
        if (failed) {
            await this.close();
            throw failed.reason;
        }
        return opened[0].value;
    }
    score(source, items, context) {
        return new Promise((resolve, reject) => {
            const entered = () => context.entered?.();
            const call = { source, items, entered, resolve, reject, process: undefined };
            context.signal.addEventListener('abort', () => this.giveUp(call, context.signal.reason), { once: true });
            this.place(call);
        });
    }
    tell(name, event) {
        for (const one of this.processes)
            one?.tell(name, event);
    }
    async close() {
        this.closed = true;
        for (const call of this.waiting.splice(0))
            call.reject(closedError);
        await Promise.all(this.processes.map(one => one?.close()));
    }
    giveUp(call, reason) {
        const place = this.waiting.indexOf(call);
        if (place < 0)
            call.process?.giveUp(call, reason);
        else {
            this.waiting.splice(place, 1);
            call.reject(reason);
        }
    }
    /** To the process with the fewest calls. */
    place(call) {
        const there = this.processes.filter(one => one !== undefined);
        if (this.closed)
            call.reject(closedError);
        else if (there.length > 0) {
            call.process = there.reduce((a, b) => (b.size < a.size ? b : a));
            call.process.call(call);
        }
        else {
            call.process = undefined;
            this.waiting.push(call);
            if (this.starting === 0)
                void this.restart(0);
        }
    }
    async start(place) {
        const onEnd = (left) => {
            this.processes[place] = undefined;
            const restarted = this.restart(place);
            for (const call of left)
                this.place(call);
            void restarted;
        };
        const { process, description } = await RewardProcess.start({ ...this.options, onEnd });
        if (this.closed)
            await process.close();
        else
            this.processes[place] = process;
        return description;
    }
    async restart(place) {
        if (this.closed)
            return;
        this.starting++;
        try {
            await this.start(place);
        }
        catch (error) {
            // Those who wait for it hear why. The next call tries again.
            const message = `the reward's process cannot be started again: ${error.message}`;
            const none = this.starting === 1 && this.processes.every(one => one === undefined);
            if (none)
                for (const call of this.waiting.splice(0))
                    call.reject(new SourceError('crashed', message));
        }
        finally {
            this.starting--;
        }
        for (const call of this.waiting.splice(0))
            this.place(call);
    }
}
const closedError = new SourceError('aborted', 'the rewards were closed');
//# sourceMappingURL=reward-file.js.map