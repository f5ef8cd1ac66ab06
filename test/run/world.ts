import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { RunIdentity } from '../../src/run/index.js'

const made: string[] = []

/** A fresh directory, removed when the file's tests are done. */
export function temporaryDirectory(): string {
  made.push(realpathSync(mkdtempSync(join(tmpdir(), 'whetstone-run-'))))
  return made.at(-1)!
}
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

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
