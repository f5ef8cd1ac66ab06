/** A program that waits for its samples waits for servers that are away, too. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('with every server away the process goes on, until the samples have failed', { timeout: 60_000 }, async () => {
  const script = new URL('./waits-for-servers.ts', import.meta.url).pathname
  const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib/jiti-cli.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [jiti, script])
  expect(stdout.trim()).toBe('failed unreachable')
})
