import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Everything the tests make in the system's temporary directory goes away with them, killed processes' files too. */
export default function ownTemporaryDirectory(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'whetstone-tests-'))
  process.env.TMPDIR = directory
  return () => rmSync(directory, { recursive: true, force: true })
}
