import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type UserWorkspaceConfig } from 'vitest/config'

/** They replace modules, or set the environment before they load them. */
const replacing = [
  'test/files/{atomic-file,synced}.test.ts',
  'test/kernels/fused-ops.test.ts',
  'test/model/vision-mistakes.test.ts',
  'test/rollout/multi-step.test.ts',
  'test/tensor/safetensors-checkpoint.test.ts',
]
/** They say what memory their process takes, which is to be theirs alone. */
const measuring = ['test/data/streaming.test.ts', 'test/tensor/{memory,typed-arrays}.test.ts']
/** They count the tensors of their process. Each leaves none behind, so they share one with each other, and with no others. */
const counting = [
  'test/model/{checkpoint,head,inspect,lora}.test.ts',
  'test/rollout/{engine,memory,weights}.test.ts',
  'test/serve/{control,control-weights}.test.ts',
  'test/tensor/{autograd,optim,program,safetensors}.test.ts',
  'test/train/supervised/epochs.test.ts',
]
/** They run and train tiny models, which is faster so. */
const oneThread = [
  'test/{api,dashboard,distributed,evaluate,experience,model,pipeline,rollout,serve,train}/**/*.test.ts',
]
/** They take long: crashes at every point, whole trainings, matrices of options, documents, the package. */
const slow = ['test/**/*.slow.test.ts']
/** Slow ones that measure memory or threads, or set the environment. */
const slowAlone = [
  'test/{data,hub,launch,setup,tensor}/*.slow.test.ts',
  'test/train/memory-estimate*.slow.test.ts',
  'test/{api/docs,docs/blocks,environment/sandbox,model/soak,rollout/soak,serve/random-bodies,train/rl/other-weights}.slow.test.ts',
]
// They need servers that are installed for them: `npm run test:vllm`, `npm run test:sglang`.
const exclude = [...configDefaults.exclude, 'test/**/*.real.test.ts', ...slow]

const shared = {
  setupFiles: ['test/support/each-file.ts'],
  // Examples import the package; their tests try the sources, whatever was built.
  alias: [{ find: /^whetstone$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }],
  // A native crash then kills a process of its own, not the whole report.
  pool: 'forks',
  // Most of what concurrent tests do is waiting.
  maxConcurrency: 16,
  // No test asks the Hub; those of the Hub have a server of their own.
  env: { HF_HUB_OFFLINE: '1' },
  // For what hangs: on a machine with much else to do, a test of seconds takes minutes.
  testTimeout: 300_000,
  hookTimeout: 300_000,
} satisfies UserWorkspaceConfig['test']
const oneThreaded = { ...shared, setupFiles: [...shared.setupFiles, 'test/support/one-thread.ts'] }

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    // One project takes from another, and one run from the last, what became of a file's TypeScript.
    experimental: { fsModuleCache: true },
    // Some wait for servers and disks most of the time.
    maxWorkers: 3,
    // Where they can, files share a process: to load everything anew takes as long as many of the tests.
    projects: [
      {
        test: {
          ...shared,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...oneThread, ...measuring, ...counting, ...replacing],
          isolate: false,
        },
      },
      {
        test: {
          ...oneThreaded,
          name: 'one thread',
          include: oneThread,
          exclude: [...exclude, ...measuring, ...counting, ...replacing],
          isolate: false,
        },
      },
      { test: { ...oneThreaded, name: 'counting', include: counting, exclude, isolate: false } },
      { test: { ...oneThreaded, name: 'measuring', include: measuring, exclude } },
      { test: { ...shared, name: 'replacing', include: replacing, exclude } },
      { test: { ...oneThreaded, name: 'slow', include: slow, exclude: slowAlone, isolate: false } },
      { test: { ...oneThreaded, name: 'slow alone', include: slowAlone } },
    ],
  },
})
