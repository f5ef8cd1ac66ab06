import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './at-end.js'

/** An empty directory, removed when the tests of the file are done. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'whetstone-')))
  atEnd(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
