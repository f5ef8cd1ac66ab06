/** A tool that holds the process for ever cannot be timed out from JavaScript: the watchdog names it, and Ctrl-C works. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startChild } from '../support/child.js'
import { compiled, repository } from '../support/compiled.js'

test('Ctrl-C works while a tool holds the process, and the tool is named', async () => {
  const script = new URL('./children/blocking.mjs', import.meta.url)
  const child = startChild(script, [join(compiled(), 'dist'), join(repository, 'build', 'whetstone.node')])
  await child.waitFor(/begun/)
  child.kill('SIGINT')
  const { code, output } = await child.ended
  expect(output).toContain('whetstone: interrupted while tool spin held the process: nothing else could run.')
  expect(code).toBe(130)
}, 120_000)
