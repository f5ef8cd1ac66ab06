import { afterAll, vi } from 'vitest'
import { endOfFile } from './at-end.js'

// Called before each test file, also where files share a process.
afterAll(async () => {
  vi.restoreAllMocks()
  await endOfFile()
})
