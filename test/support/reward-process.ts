import { mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/** The process of reward files as JavaScript: tests run TypeScript, and what they start cannot. */
export default async function compiledRewardProcess(): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const directory = mkdtempSync(join(tmpdir(), 'whetstone-reward-process-'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: 'src/reward/process/child.ts',
      outDir: join(directory, 'dist'),
      target: 'node20',
      minify: false,
      rolldownOptions: { output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' } },
    },
  })
  process.env.WHETSTONE_TEST_REWARD_PROCESS = join(directory, 'dist', 'child.mjs')
}
