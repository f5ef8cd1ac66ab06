import { join } from 'node:path';
/** Where things are in a run directory. */
export function runPaths(directory) {
    return {
        config: join(directory, 'config.json'),
        lock: join(directory, 'lock'),
        logs: join(directory, 'logs'),
        journal: join(directory, 'journal'),
        checkpoints: join(directory, 'checkpoints'),
    };
}
/** The JSONL files in `logs/`. */
export const logFiles = {
    metrics: 'metrics.jsonl',
    events: 'events.jsonl',
    skipped: 'skipped.jsonl',
    samples: 'samples.jsonl',
};
//# sourceMappingURL=paths.js.map