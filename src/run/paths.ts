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
    /** Pixels of images and videos, and which files they came from. */
    media: join(directory, 'media'),
  }
}

/** The JSONL files in `logs/`. */
export const logFiles = {
  metrics: 'metrics.jsonl',
  events: 'events.jsonl',
  skipped: 'skipped.jsonl',
  samples: 'samples.jsonl',
} as const

/** With `saveTrajectories`: samples of an iteration with every number of their tokens. */
export const trajectoryPath = (directory: string, iteration: number): string =>
  join(directory, 'trajectories', `${String(iteration).padStart(6, '0')}.jsonl`)
