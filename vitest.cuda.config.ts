import { defineConfig } from 'vitest/config'

/** The tests that take a device, on CUDA (test/support/device.ts). One file after another: they share the card. */
export default defineConfig({
  test: {
    include: ['test/**/*.device.test.ts', 'test/**/*.device.slow.test.ts'],
    env: { WHETSTONE_TEST_DEVICE: process.env.WHETSTONE_TEST_DEVICE ?? 'cuda' },
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/each-file.ts',
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
