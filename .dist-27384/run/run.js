import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { didYouMean } from '../errors/index.js';
import { leftoverOf, makeDirectory, recoverDirectory, syncDirectory } from '../files/index.js';
import { attributed } from './append-file.js';
import { latestCheckpoint, readCheckpoint, rotateCheckpoints, writeCheckpoint, } from './checkpoints.js';
import { RunError } from './errors.js';
import { continuedConfig, newConfig, readConfig, writeConfig, } from './identity.js';
import { Journal } from './journal.js';
import { readJsonLines } from './json-lines.js';
import { removeDeadClaims, takeLock } from './lock.js';
import { RunLogs } from './logs.js';
import { isMetricName, metricNames } from './metric-names.js';
import { logFiles, runPaths } from './paths.js';
import { readRun } from './run-view.js';
const defaultKeep = 2;
/**
 * A run directory that survives `kill -9` at any instant. One process owns it at a time. What is logged costs the caller
 * nothing but memory; what is journalled or checkpointed is on the disk when its promise resolves.
 *
 * @example
 * const identity = { command: 'sft', config: { seed: 1 }, origins: {}, fingerprints: {}, versions: {} } as const
 * const run = await Run.create('runs/one', identity)
 * run.metrics(1, { 'loss/train': 2.5 })
 * await run.checkpoint(1, { cursor: 32 }, async directory => {})
 * await run.close('finished')
 */
export class Run {
    directory;
    journal;
    /** What the run is made from, as it was opened. */
    inputs;
    /** Whether there was a run to go on with. */
    resumed;
    /** Whether it begins with nothing saved: what a run logs once, at its start, is still to be logged. */
    fromStart;
    #lock;
    #logs;
    #keepCheckpoints;
    /** Of the newest checkpoint that the run can go on from. */
    #saved;
    /** Steps of checkpoints that were passed over. */
    #unusable;
    #closing;
    constructor(opened) {
        this.directory = opened.directory;
        this.journal = new Journal(runPaths(opened.directory).journal);
        this.inputs = opened.inputs;
        this.resumed = opened.resumed;
        this.fromStart = opened.saved === undefined;
        this.#lock = opened.lock;
        this.#logs = opened.logs;
        this.#keepCheckpoints = opened.options.keepCheckpoints ?? defaultKeep;
        this.#saved = opened.saved;
        this.#unusable = opened.unusable;
    }
    /** Starts a run in a new directory, or one that holds no run. */
    static async create(directory, identity, options = {}) {
        return owning(directory, async (lock) => {
            if (await Run.isIn(directory))
                throw new RunError(`${directory} holds a run already`, {
                    remedy: 'Go on with it by --resume, or give the new run a directory of its own.',
                });
            return Run.#begin(directory, identity, options, lock);
        });
    }
    /**
     * Goes on with a run. What was logged after its newest checkpoint is cut off, since it will be logged again. Where the
     * process died before there was a run, this starts one: `resumed` says which it was.
     */
    static async resume(directory, identity, options = {}) {
        return owning(directory, async (lock) => {
            const paths = runPaths(directory);
            const old = await readConfig(paths.config);
            if (!old)
                return Run.#begin(directory, identity, options, lock);
            const { harmless = [], allowChange = [], outdatedFrom, journalOf, refuse, onWarning } = options;
            const continued = continuedConfig(old, identity, { directory, harmless, allowChange });
            const { config, changes, matter } = continued;
            await makeFolders(directory);
            const journal = new Journal(paths.journal);
            const { latest, passedOver } = await latestCheckpoint(paths.checkpoints, async (state) => refuse?.(state, journal));
            if (!latest && passedOver.length > 0)
                throw noneLeft(paths.checkpoints, passedOver);
            // Before the change is written down: one that is killed in between still has it to make.
            const outdated = passedOver.flatMap(({ journalFrom }) => (journalFrom === undefined ? [] : [journalFrom]));
            if (outdatedFrom && matter.length > 0)
                outdated.push(outdatedFrom(latest?.state));
            if (outdated.length > 0)
                await journal.discardFrom(Math.min(...outdated));
            if (matter.length > 0) {
                const record = { kind: 'changes', time: new Date().toISOString(), changes: matter.map(written) };
                await journal.append(journalOf?.(latest?.state) ?? 0, record);
            }
            await journal.close();
            if (changes.length > 0 || old.inputs === undefined)
                await writeConfig(paths.config, config);
            const step = latest?.step ?? 0;
            const unusable = new Set(passedOver.map(one => one.step));
            // A process that died between putting a checkpoint in place and removing older ones left that to do.
            const count = options.keepCheckpoints ?? defaultKeep;
            await rotateCheckpoints(paths.checkpoints, { newest: step, count, unusable });
            const logs = await RunLogs.open(paths.logs, { rewind: { offsets: latest?.logs ?? {} } });
            if (!latest && (await hasSaved(paths.logs))) {
                const message = `${paths.checkpoints} holds no checkpoint: the run begins again from its first step.`;
                logs.event('warning', { message });
                onWarning?.(message);
            }
            for (const { directory: at, reason } of passedOver) {
                logs.event('warning', { message: 'checkpoint passed over', directory: at, reason });
                onWarning?.(`${at} is passed over: ${reason}. The run goes on from step ${step}.`);
            }
            logs.event('resumed', {
                step,
                versions: identity.versions,
                changes: changes.map(written),
            });
            const { inputs = {} } = identity;
            return new Run({ directory, inputs, resumed: true, saved: latest?.step, unusable, lock, logs, options });
        });
    }
    static async #begin(directory, identity, options, lock) {
        const paths = runPaths(directory);
        for (const folder of [paths.checkpoints, paths.journal]) {
            const [first] = await readdir(folder).catch(() => []);
            if (first !== undefined)
                throw new RunError(`${folder} holds ${first}, but ${paths.config} is missing`, {
                    remedy: 'Put that file back to go on with the run, or give the new run a directory of its own.',
                });
        }
        await writeConfig(paths.config, newConfig(identity));
        await makeFolders(directory);
        const logs = await RunLogs.open(paths.logs);
        logs.event('started', { command: identity.command, versions: identity.versions });
        const { inputs = {} } = identity;
        return new Run({ directory, inputs, resumed: false, saved: undefined, unusable: new Set(), lock, logs, options });
    }
    /** Whether there is a run in a directory. A `config.json` of something else, such as a model, is a {@link RunError}. */
    static async isIn(directory) {
        return (await readConfig(runPaths(directory).config)) !== undefined;
    }
    /** A run as others see it: no lock, nothing written. */
    static read(directory) {
        return readRun(directory);
    }
    /** Logs numbers of a step, or of an iteration where that is what a trainer counts. Names are those of {@link metricNames}. */
    metrics(step, values) {
        if (!Number.isSafeInteger(step) || step < 0)
            throw new RunError(`expected a step from 0 on, got ${step}`);
        for (const name of Object.keys(values))
            if (!isMetricName(name))
                throw new RunError(`there is no metric "${name}"${didYouMean(name, metricNames.map(metric => metric.name))}`, {
                    remedy: 'Every metric is described in src/run/metric-names.ts.',
                });
        this.#logs.metrics(step, values);
    }
    event(kind, fields = {}) {
        this.#logs.event(kind, fields);
    }
    /** A row or a sample that was left out. */
    skipped(record) {
        this.#logs.skipped(record);
    }
    /** A sample's text, to be read by people. */
    sample(record) {
        this.#logs.sample(record);
    }
    /**
     * Saves where the run is: `fill` writes models into the directory it is given, `state` is everything else. The checkpoint is
     * there whole or not at all; older ones are removed only after it is. `keep: 'always'` exempts it from removal for good.
     */
    async checkpoint(step, state, fill, { keep = 'rotate' } = {}) {
        const { checkpoints } = runPaths(this.directory);
        // On the disk first: a checkpoint must never know of more log than there is.
        await this.#logs.flush();
        await writeCheckpoint(checkpoints, { step, state, logs: this.#logs.offsets, keep, fill });
        this.#saved = step;
        this.#unusable.delete(step);
        await rotateCheckpoints(checkpoints, { newest: step, count: this.#keepCheckpoints, unusable: this.#unusable });
        this.event('checkpoint', { step });
    }
    /** The checkpoint that the run went on from, or the last one that it saved. */
    async latest() {
        if (this.#saved === undefined)
            return undefined;
        // Its files were checked when the run was opened, or have just been written.
        const found = await readCheckpoint(runPaths(this.directory).checkpoints, this.#saved, 'sizes');
        if (found.kind === 'incomplete')
            throw new RunError(`${found.directory}: ${found.reason}`);
        const { step, state, directory } = found.checkpoint;
        return { step, state, directory };
    }
    /** Everything logged so far is on the disk. Rejects with a FileWriteError where it is not; what was logged is kept for the next time. */
    async flush() {
        await this.#logs.flush();
    }
    /** Says how the run ended, and lets go of the directory. A second call waits for the first. */
    close(outcome, error) {
        this.#closing ??= this.#close(outcome, error);
        return this.#closing;
    }
    async #close(outcome, error) {
        this.event(outcome, error === undefined ? {} : { error: error instanceof Error ? error.message : String(error) });
        try {
            await this.journal.close();
            await this.#logs.close();
        }
        finally {
            await this.#lock.release();
        }
    }
}
/** Opens a run with its lock held; the lock is let go where that fails. */
async function owning(directory, open) {
    await attributed(directory, () => makeDirectory(directory));
    const lock = await takeLock(runPaths(directory).lock);
    try {
        await removeLeftovers(directory);
        return await open(lock);
    }
    catch (error) {
        await lock.release();
        throw error;
    }
}
/** Finishes or removes what killed processes left: halves of files, models and checkpoints, and locks they never got. */
async function removeLeftovers(directory) {
    const entries = await readdir(directory, { withFileTypes: true });
    const folders = entries.filter(entry => entry.isDirectory() && !leftoverOf(entry.name)).map(({ name }) => name);
    for (const folder of [directory, ...folders.map(name => join(directory, name))]) {
        const left = (await readdir(folder)).map(leftoverOf).filter(one => one !== undefined);
        for (const target of new Set(left.map(one => one.target)))
            await recoverDirectory(join(folder, target));
    }
    await removeDeadClaims(runPaths(directory).lock);
}
function written({ key, from, to }) {
    return { key, from, to };
}
/** Whether the run says that it saved a checkpoint since it last began from its first step. */
async function hasSaved(logs) {
    const { objects } = await readJsonLines(join(logs, logFiles.events));
    const since = objects.findLastIndex(({ kind, step }) => kind === 'started' || (kind === 'resumed' && step === 0));
    return objects.slice(since + 1).some(({ kind }) => kind === 'checkpoint');
}
function noneLeft(checkpoints, passedOver) {
    const reasons = passedOver.map(({ directory, reason }) => `\n  ${directory}: ${reason}`);
    return new RunError(`${checkpoints} holds no checkpoint that the run can go on from:${reasons.join('')}`, {
        remedy: `Put back a copy of one of them, start a new run, or remove ${checkpoints} and resume: ` +
            'the run then begins again from its first step.',
    });
}
async function makeFolders(directory) {
    const { logs, journal, checkpoints } = runPaths(directory);
    await attributed(directory, async () => {
        for (const folder of [logs, journal, checkpoints])
            await makeDirectory(folder);
        await syncDirectory(directory);
    });
}
//# sourceMappingURL=run.js.map