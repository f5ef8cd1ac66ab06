import { configDefaults, defineConfig, type UserWorkspaceConfig } from 'vitest/config'

/** They replace modules, or set the environment before they load them. */
const replacing = [
  'test/files/*.test.ts',
  'test/kernels/fused-ops.test.ts',
  'test/rollout/multi-step.test.ts',
  'test/tensor/safetensors-checkpoint.test.ts',
]
/** They say what their process holds, which is to be theirs alone. */
const measuring = [
  'test/data/streaming.test.ts',
  'test/model/{checkpoint,head,inspect,lora}.test.ts',
  'test/rollout/{engine,memory,weights}.test.ts',
  'test/serve/{control,control-weights}.test.ts',
  'test/tensor/{autograd,memory,optim,program,safetensors,typed-arrays}.test.ts',
  'test/train/memory-estimate.test.ts',
  'test/train/supervised/epochs.test.ts',
]
/** They run and train tiny models, which is faster so. */
const oneThread = ['test/{api,distributed,evaluate,experience,model,pipeline,rollout,serve,train}/**/*.test.ts']
/** They take long: crashes at every point, whole trainings, matrices of options, documents, the package. */
const slow = ['test/**/*.slow.test.ts']
// They need servers that are installed for them: `npm run test:vllm`, `npm run test:sglang`.
const exclude = [...configDefaults.exclude, 'test/**/*.real.test.ts', ...slow]

const shared = {
  setupFiles: ['test/support/each-file.ts'],
  // A native crash then kills a process of its own, not the whole report.
  pool: 'forks',
  // Most of what concurrent tests do is waiting.
  maxConcurrency: 16,
  // No test asks the Hub; those of the Hub have a server of their own.
  env: { HF_HUB_OFFLINE: '1' },
  testTimeout: 60_000,
  hookTimeout: 120_000,
} satisfies UserWorkspaceConfig['test']
const oneThreaded = { ...shared, setupFiles: [...shared.setupFiles, 'test/support/one-thread.ts'] }

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    // Some wait for servers and disks most of the time.
    maxWorkers: 3,
    // Where they can, files share a process: to load everything anew takes as long as many of the tests.
    projects: [
      {
        test: {
          ...shared,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...oneThread, ...measuring, ...replacing],
          isolate: false,
        },
      },
      {
        test: {
          ...oneThreaded,
          name: 'one thread',
          include: oneThread,
          exclude: [...exclude, ...measuring, ...replacing],
          isolate: false,
        },
      },
      { test: { ...oneThreaded, name: 'measuring', include: measuring, exclude } },
      { test: { ...shared, name: 'replacing', include: replacing, exclude } },
      { test: { ...oneThreaded, name: 'slow', include: slow } },
    ],
  },
})
