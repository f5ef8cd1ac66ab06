import { pathToFileURL } from 'node:url'
import { afterAll, vi } from 'vitest'
import { childEntry } from '../../src/reward/process/entry.js'
import { endOfFile } from './at-end.js'

const compiled = process.env.WHETSTONE_TEST_REWARD_PROCESS
if (compiled !== undefined) childEntry.url = pathToFileURL(compiled)

// Called before each test file, also where files share a process.
afterAll(async () => {
  vi.restoreAllMocks()
  await endOfFile()
})
