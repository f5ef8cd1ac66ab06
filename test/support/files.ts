import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './at-end.js'

/** An empty directory, removed when the tests of the file are done. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'whetstone-')))
  atEnd(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** For what several test files share; it goes away with the temporary directory of the whole run. */
const folder = mkdtempSync(join(tmpdir(), 'whetstone-'))
let count = 0

/** A path that nothing is at yet. */
export const fresh = (name: string): string => join(folder, `${count++}-${name}`)

/** A new file. */
export function written(name: string, text: string): string {
  const path = fresh(name)
  writeFileSync(path, text)
  return path
}

/** A new file of these rows. */
export const jsonl = (rows: readonly unknown[], name = 'rows'): string =>
  written(`${name}.jsonl`, rows.map(row => `${JSON.stringify(row)}\n`).join(''))

export const jsonLines = <T = Record<string, unknown>>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as T)
