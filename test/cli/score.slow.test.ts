/** `whetstone score` on a file that takes a while. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { startWhetstone } from '../support/child.js'
import { cli } from '../support/cli.js'
import { expectClose } from '../support/close.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/tiny-model.js'

const folder = temporaryDirectory()

test('a long file: in order over several windows, with progress; interrupted, it leaves nothing', async () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    ids: Array.from({ length: 1 + ((i * 37) % 100) }, (_, t) => (i + 7 * t) % 500),
  }))
  const input = join(folder, 'many.jsonl')
  writeFileSync(input, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const tiny = await modelDirectory(7)
  const args = ['score', '--model', tiny, '--input', input, '--output']
  const ran = await cli([...args, 'many.out'], { cwd: folder })
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/scoring 20 % of [\d,]+ tokens\n/) })
  const lines = readFileSync(join(folder, 'many.out'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { logprobs: number[] })
  expect(lines.map(line => line.logprobs.length)).toEqual(rows.map(row => row.ids.length - 1))
  const model = await LocalModel.load(tiny, { role: 'language' })
  for (const i of [1, 700, 2999]) {
    const [expected] = await model.score([Int32Array.from(rows[i]!.ids)])
    expectClose(lines[i]!.logprobs, expected!.logprobs, 1e-5)
  }
  model.dispose()

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const child = startWhetstone([...args, 'stopped.out'], {
      cwd: folder,
    })
    await child.waitFor(/^ {2}scoring \d+ % of [\d,]+ tokens\n/m)
    const stopped = await child.kill(signal)
    expect(stopped).toMatchObject({
      code,
      stderr: expect.stringContaining('Interrupted. stopped.out was not written.'),
    })
    expect(readdirSync(folder).filter(name => /stopped/.test(name))).toEqual([])
  }
})
