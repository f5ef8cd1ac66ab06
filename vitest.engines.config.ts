import { defineConfig } from 'vitest/config'

/**
 * The tests that need a real vLLM or SGLang (test/engines/run.mjs). One file after another: each server takes some memory. Deadlines
 * are for what hangs: on a machine with much else to do a server takes minutes to start.
 */
export default defineConfig({
  test: {
    include: ['test/**/*.real.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/each-file.ts',
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 1_200_000,
    hookTimeout: 2_400_000,
  },
})
