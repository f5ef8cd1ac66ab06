import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, vi } from 'vitest'
import { rescoreEntry } from '../../src/dashboard/rescore-entry.js'
import { rankEntry } from '../../src/distributed/rank-entry.js'
import { childEntry } from '../../src/reward/process/entry.js'
import { endOfFile } from './at-end.js'
import { quick } from './compiled.js'

// Compiled when a reward file, a rank, or what scores samples again gets its process.
Object.defineProperty(childEntry, 'url', {
  get: () => pathToFileURL(join(quick(), 'dist/reward/process/child.js')),
  configurable: true,
})

Object.defineProperty(rankEntry, 'url', {
  get: () => pathToFileURL(join(quick(), 'dist/distributed/rank-process.js')),
  configurable: true,
})

Object.defineProperty(rescoreEntry, 'url', {
  get: () => pathToFileURL(join(quick(), 'dist/dashboard/rescore-process.js')),
  configurable: true,
})

// Called before each test file, also where files share a process.
afterAll(async () => {
  vi.restoreAllMocks()
  await endOfFile()
})
