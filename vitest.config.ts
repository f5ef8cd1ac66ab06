import { configDefaults, defineConfig } from 'vitest/config'

/** They replace modules, or count all tensors of their process. */
const apart = [
  'test/files/*.test.ts',
  'test/kernels/fused-ops.test.ts',
  'test/rollout/{memory,multi-step,soak,weights}.test.ts',
  'test/tensor/{memory,optim,program,safetensors,safetensors-checkpoint}.test.ts',
  'test/train/supervised/epochs.test.ts',
]
/** They run and train tiny models. */
const oneThread = [
  'test/{evaluate,experience,model,pipeline,rollout,serve,train}/**/*.test.ts',
  'test/tensor/autograd.test.ts',
]
// They need servers that are installed for them: `npm run test:vllm`, `npm run test:sglang`.
const exclude = [...configDefaults.exclude, 'test/**/*.real.test.ts']

export default defineConfig({
  test: {
    globalSetup: 'test/temporary.ts',
    setupFiles: ['test/each-file.ts'],
    // A native crash then kills a process of its own, not the whole report.
    pool: 'forks',
    maxWorkers: 2,
    // Most of what concurrent tests do is waiting.
    maxConcurrency: 16,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Where they can, files share a process: to load everything anew takes as long as many of the tests.
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...oneThread, ...apart],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'one thread',
          include: oneThread,
          exclude: [...exclude, ...apart],
          setupFiles: ['test/one-thread.ts'],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'apart', include: apart, exclude } },
    ],
  },
})
