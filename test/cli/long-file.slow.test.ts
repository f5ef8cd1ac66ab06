/** A file of many lines, scored by the command. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { startWhetstone } from '../support/child.js'
import { cli } from '../support/cli.js'
import { expectClose } from '../support/close.js'
import { jsonLines, jsonl, temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/tiny-model.js'

const folder = temporaryDirectory()
const tiny = await modelDirectory(7, { context: 512 })

test('a long file: in order over several windows, with progress; interrupted, it leaves nothing', async () => {
  const rows = Array.from({ length: 1500 }, (_, i) => ({
    ids: Array.from({ length: 1 + ((i * 37) % 200) }, (_, t) => (i + 7 * t) % 2000),
  }))
  const input = jsonl(rows)
  const ran = await cli(['score', '--model', tiny, '--input', input, '--output', 'many.out'], { cwd: folder })
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/scoring 20 % of [\d,]+ tokens\n/) })
  const lines = jsonLines<{ logprobs: number[] }>(join(folder, 'many.out'))
  expect(lines.map(line => line.logprobs.length)).toEqual(rows.map(row => row.ids.length - 1))
  const model = await LocalModel.load(tiny, { role: 'language' })
  for (const i of [1, 700, 1499]) {
    const [expected] = await model.score([Int32Array.from(rows[i]!.ids)])
    expectClose(lines[i]!.logprobs, expected!.logprobs, 1e-5)
  }
  model.dispose()

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const child = startWhetstone(['score', '--model', tiny, '--input', input, '--output', 'stopped.out'], {
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
