import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunIdentity } from '../../src/run/index.js'

export function identity(config: RunIdentity['config'] = { seed: 1 }, over: Partial<RunIdentity> = {}): RunIdentity {
  return { command: 'sft', config, origins: {}, fingerprints: {}, versions: { whetstone: '0.1.0' }, ...over }
}

export function write(name: string, text: string): (directory: string) => Promise<void> {
  return async directory => writeFileSync(join(directory, name), text)
}

/** Changes one bit of a file, or changes it back. */
export function flipBit(file: string, at: number, bit = 0): void {
  const bytes = readFileSync(file)
  bytes[at]! ^= 1 << bit
  writeFileSync(file, bytes)
}
