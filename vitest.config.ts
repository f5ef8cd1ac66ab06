import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need servers that are installed for them: `npm run test:vllm`, `npm run test:sglang`.
    exclude: [...configDefaults.exclude, 'test/**/*.real.test.ts'],
    // A native crash then kills one forked file, not the whole report.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
