/** Functions that hold the process for ever: the watchdog names them, ends the process, and hears Ctrl-C. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Child, runChild, startChild } from '../support/child.js'
import { compiled, repository } from '../support/compiled.js'

const bridge = join(repository, 'build', 'whetstone.node')

async function watched(
  mode: string,
  deadlineMs: number,
  onBegun?: (child: Child) => void,
): Promise<{ code: number | null; output: string }> {
  const script = new URL('./children/watched.mjs', import.meta.url)
  const child = startChild(script, [join(compiled(), 'dist'), bridge, mode, String(deadlineMs)])
  if (onBegun) void child.waitFor(/begun/).then(() => onBegun(child))
  const { code, output } = await child.ended
  return { code, output }
}

it.concurrent.each(['at once', 'after a while', 'asleep'])(
  'a function that never comes back, %s, is named and ended',
  async mode => {
    const { code, output } = await watched(mode, 700)
    expect(output).toMatch(/whetstone: reward "my reward" has held the process for 1\d.* s, longer than its time limit/)
    expect(code).toBe(124)
  },
  // It has to use ten seconds of processor time, which a busy machine may not give it soon.
  300_000,
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

it('a function is not blamed for time in which a busy machine gives it no processor', async () => {
  const limitMs = 1000
  const script = new URL('./children/starved.mjs', import.meta.url)
  const { code, stdout, output } = await runChild(script, [join(compiled(), 'dist'), bridge, String(limitMs)], {
    timeout: 30_000,
  })
  expect(output).not.toContain('whetstone:')
  expect(code).toBe(0)
  const { wallMs, usedMs } = JSON.parse(stdout) as { wallMs: number; usedMs: number }
  expect(wallMs).toBeGreaterThan(limitMs)
  expect(usedMs).toBeLessThan(limitMs)
})
