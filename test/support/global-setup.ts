import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { compileAhead, forgetCompiled } from './compiled.js'

/** So few that perhaps none of them needs the project compiled. */
const fewFiles = 30

/** Everything the tests make in the system's temporary directory goes away with them, files of killed processes too. */
export default function ownTemporaryDirectory(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'whetstone-tests-'))
  process.env.TMPDIR = directory
  project.onTestsRerun(forgetCompiled)
  const stop = project.vitest.state.getPaths().length > fewFiles ? compileAhead() : undefined
  return () => {
    stop?.()
    rmSync(directory, { recursive: true, force: true })
  }
}
