import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, vi } from 'vitest'
import { childEntry } from '../../src/reward/process/entry.js'
import { endOfFile } from './at-end.js'
import { compiled } from './compiled.js'

// Compiled when a reward file gets its process.
Object.defineProperty(childEntry, 'url', {
  get: () => pathToFileURL(join(compiled(), 'dist/reward/process/child.js')),
  configurable: true,
})

// Called before each test file, also where files share a process.
afterAll(async () => {
  vi.restoreAllMocks()
  await endOfFile()
})
