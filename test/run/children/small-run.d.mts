import type { Run } from '../../../src/run/index.js'
export function smallRun(run: typeof Run, directory: string): Promise<number>
