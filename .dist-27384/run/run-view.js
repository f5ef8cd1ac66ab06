/** A run directory as others see it: lists of runs, plots, replays, a dashboard. Nothing is locked or written. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointSteps, newestCheckpoint } from './checkpoints.js';
import { RunError } from './errors.js';
import { readConfig } from './identity.js';
import { Journal } from './journal.js';
import { readJsonLines } from './json-lines.js';
import { isHeld, readLock } from './lock.js';
import { logFiles, runPaths } from './paths.js';
export async function readRun(directory) {
    const paths = runPaths(directory);
    const config = await readConfig(paths.config);
    if (!config)
        throw new RunError(`${directory} holds no run: there is no config.json in it`);
    // The lock is read before the events: a run that ends in between has said so in them.
    const holder = await readLock(paths.lock);
    const owner = holder && isHeld(holder) ? holder : undefined;
    const eventLines = await readJsonLines(join(paths.logs, logFiles.events));
    const events = eventLines.objects.filter(isEvent);
    const metricLines = await readJsonLines(join(paths.logs, logFiles.metrics));
    const metrics = metricsOf(metricLines);
    const checkpoints = await checkpointSteps(paths.checkpoints);
    const lastPoints = [...metrics.values()].map(points => points.at(-1));
    return {
        directory,
        config,
        owner,
        status: owner ? 'running' : ending(events),
        step: lastPoints.length > 0 ? Math.max(...lastPoints.map(({ step }) => step)) : (checkpoints.at(-1) ?? 0),
        updated: Math.max(Date.parse(events.at(-1)?.time ?? config.created), ...lastPoints.map(({ time }) => time), (await stat(paths.config)).mtimeMs),
        metrics,
        events,
        badLines: [
            ...eventLines.bad.map(line => `${join(paths.logs, logFiles.events)}:${line}`),
            ...metricLines.bad.map(line => `${join(paths.logs, logFiles.metrics)}:${line}`),
        ],
        checkpoints,
        journal: new Journal(paths.journal),
        latest: () => newestCheckpoint(paths.checkpoints),
    };
}
function isEvent(line) {
    return typeof line.kind === 'string' && !Number.isNaN(Date.parse(String(line.time)));
}
function ending(events) {
    const last = events.findLast(({ kind }) => ['started', 'resumed', 'finished', 'stopped', 'failed'].includes(kind));
    const kind = last?.kind;
    return kind === 'finished' || kind === 'stopped' || kind === 'failed' ? kind : 'crashed';
}
/** Metrics by name. What has not the shape of one is left out. */
function metricsOf({ objects }) {
    const series = new Map();
    for (const line of objects) {
        const { step, time, values } = line;
        if (typeof step !== 'number' || typeof time !== 'string')
            continue;
        if (typeof values !== 'object' || values === null || Array.isArray(values))
            continue;
        for (const [name, value] of Object.entries(values)) {
            if (typeof value !== 'number' && typeof value !== 'string')
                continue;
            if (!series.has(name))
                series.set(name, new Map());
            series.get(name).set(step, { step, time: Date.parse(time), value: Number(value) });
        }
    }
    return new Map([...series].map(([name, points]) => [name, [...points.values()].sort((a, b) => a.step - b.step)]));
}
//# sourceMappingURL=run-view.js.map