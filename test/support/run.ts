import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunIdentity } from '../../src/run/index.js'
import { atEnd } from './at-end.js'

/** A fresh directory, removed when the file's tests are done. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'whetstone-run-')))
  atEnd(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function identity(config: RunIdentity['config'] = { seed: 1 }, over: Partial<RunIdentity> = {}): RunIdentity {
  return { command: 'sft', config, origins: {}, fingerprints: {}, versions: { whetstone: '0.1.0' }, ...over }
}

export function jsonLines(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
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
