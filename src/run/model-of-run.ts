import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Best first. A run with `keep: adapters` has adapters alone. */
const names = ['best_model', 'best_adapter', 'final_model', 'final_adapter']

/**
 * The model that a run directory stands for: its best one, or its last one; undefined where it has none yet.
 *
 * @example
 * modelOfRun('runs/grpo') // runs/grpo/best_model
 */
export function modelOfRun(directory: string): string | undefined {
  return names.map(name => join(directory, name)).find(path => existsSync(path))
}
