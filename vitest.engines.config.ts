import { defineConfig } from 'vitest/config'

/** The tests that need a real vLLM or SGLang (test/engines/run.mjs). One file after another: each server takes some memory. */
export default defineConfig({
  test: {
    include: ['test/**/*.real.test.ts'],
    setupFiles: 'test/each-file.ts',
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 600_000,
  },
})
