import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChild } from '../support/child.js'
import { compiled, repository } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const script = (name: string): URL => new URL(`./children/${name}`, import.meta.url)
const index = join(compiled(), 'dist/tensor/index.js')

test('tensors, programs and errors in several worker threads, one stopped in the middle', async () => {
  const { code, signal, output } = await runChild(script('threads.mjs'), [index])
  expect({ code, signal, output }).toEqual({ code: 0, signal: null, output: 'done\n' })
})

for (const how of ['exit', 'now'] as const) {
  test(`process.exit while a program runs (${how})`, async () => {
    for (let i = 0; i < 3; i++) {
      const { code, signal, output } = await runChild(script('ending.mjs'), [index, how], { timeout: 10_000 })
      expect({ code, signal, output }).toEqual({ code: 7, signal: null, output: '' })
    }
  })
}

test('a second copy of the bridge is refused, and the first goes on', async () => {
  const second = join(temporaryDirectory(), 'second.node')
  copyFileSync(join(repository, 'build/whetstone.node'), second)
  const { code, signal, output } = await runChild(script('single-load.mjs'), [index, second])
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(output).toMatch(/^refused: another copy of it is in this process already: .*\nstill 5\n$/)
})

test('an uncaught error while a program runs', async () => {
  const { code, signal, output } = await runChild(script('ending.mjs'), [index, 'throw'], { timeout: 10_000 })
  expect({ code, signal }).toEqual({ code: 1, signal: null })
  expect(output).toContain('uncaught')
})

test('a pending run keeps the process alive until it settles, and no longer', async () => {
  const { code, signal, output } = await runChild(script('ending.mjs'), [index, 'pending'], { timeout: 20_000 })
  expect({ code, signal, output }).toEqual({ code: 0, signal: null, output: 'settled 400,400\n' })
})

test('an error of compiled code names the TypeScript line that recorded it', async () => {
  // Line 2 of the JavaScript comes from line 7, column 3 of the TypeScript.
  const folder = temporaryDirectory()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const user = join(folder, 'user.js')
  writeFileSync(
    user,
    `import { record, zeros } from ${JSON.stringify(index)}\nexport const program = record(['tensor'], x => x.matmul(zeros([3, 3])))\n`,
  )
  writeFileSync(`${user}.map`, JSON.stringify({ version: 3, sources: ['lib/user.ts'], names: [], mappings: ';AAME' }))
  const { code, output } = await runChild(script('recorded-at.mjs'), [index, user])
  expect(code).toBe(0)
  expect(output).toMatch(new RegExp(`${folder}/lib/user\\.ts:7:\\d+\\n$`))
})
