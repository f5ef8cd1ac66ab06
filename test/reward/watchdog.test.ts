/** Functions that hold the process for ever: the watchdog names them, ends the process, and hears Ctrl-C. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'whetstone-watchdog-'))

beforeAll(async () => {
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: 'test/reward/children/watched.ts',
      outDir: join(directory, 'dist'),
      target: 'node20',
      minify: false,
      rolldownOptions: { output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' } },
    },
  })
})

function watched(
  mode: string,
  deadlineMs: number,
  onBegun: (child: ChildProcess) => void = () => {},
): Promise<{ code: number | null; output: string }> {
  const bridge = join(root, 'build', 'whetstone.node')
  const child = spawn(process.execPath, [join(directory, 'dist', 'watched.mjs'), bridge, mode, String(deadlineMs)])
  let output = ''
  const take = (chunk: Buffer): void => {
    if (!output.includes('begun') && chunk.includes('begun')) onBegun(child)
    output += chunk
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise(resolve => child.on('close', code => resolve({ code, output })))
}

it.concurrent.each(['at once', 'after a while'])(
  'a function that never comes back, %s, is named and ended',
  async mode => {
    const { code, output } = await watched(mode, 700)
    expect(output).toMatch(/whetstone: reward "my reward" has held the process for 1\d.* s, longer than its deadlineMs/)
    expect(code).toBe(124)
  },
)

it.concurrent.each(['at once', 'after a while'])('Ctrl-C works while a function holds the process, %s', async mode => {
  const { code, output } = await watched(mode, 1e9, child => setTimeout(() => child.kill('SIGINT'), 300))
  expect(output).toContain('whetstone: interrupted while reward "my reward" held the process')
  expect(code).toBe(130)
})

it.concurrent('Ctrl-C is ours where nothing holds the process', async () => {
  const { code, output } = await watched('never answers', 1e9, child => setTimeout(() => child.kill('SIGINT'), 300))
  expect(code).toBe(5)
  expect(output).not.toContain('whetstone:')
})

it.concurrent('a function that waits longer than its time is a failure of its own, and nothing ends', async ({
  expect,
}) => {
  expect(await watched('fine', 100)).toEqual({ code: 0, output: '{"timeout":2}\n' })
  expect(await watched('fine', 10_000)).toEqual({ code: 0, output: '{}\n' })
})

it.concurrent('a call that was given up is not blamed for what holds the process later', async ({ expect }) => {
  expect(await watched('given up', 100)).toEqual({ code: 0, output: '{"timeout":2}\n' })
})
