import { join } from 'node:path'

/** Where things are in a run directory. */
export function runPaths(directory: string) {
  return {
    config: join(directory, 'config.json'),
    lock: join(directory, 'lock'),
    logs: join(directory, 'logs'),
    journal: join(directory, 'journal'),
    checkpoints: join(directory, 'checkpoints'),
    /** Made from logs and journal by those who look at a run; may be deleted. */
    index: join(directory, 'index'),
    metricIndex: join(directory, 'index', 'metrics.bin'),
    /** The Unix socket of a run that takes acts. */
    socket: join(directory, 'control.sock'),
    flags: join(directory, 'flags.jsonl'),
  }
}

/** The JSONL files in `logs/`. */
export const logFiles = {
  metrics: 'metrics.jsonl',
  events: 'events.jsonl',
  skipped: 'skipped.jsonl',
  samples: 'samples.jsonl',
} as const
