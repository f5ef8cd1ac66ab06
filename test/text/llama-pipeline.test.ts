import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'

const fixture = fileURLToPath(new URL('../fixtures/tokenizer-llama2', import.meta.url))

/** What transformers 5.17 answers; written by make_oracle.py. */
const oracle = JSON.parse(readFileSync(join(fixture, 'oracle.json'), 'utf8')) as {
  texts: string[]
  answers: { ids: number[][]; decoded: string[] }[]
  cases: { model_type: string; config: Record<string, unknown>; answer: number }[]
}

test.each(oracle.cases.map(row => [`${row.model_type} ${JSON.stringify(row.config)}`, row] as const))(
  "transformers' ids and texts: %s",
  async (_, { model_type, config, answer }) => {
    const dir = temporaryDirectory()
    await copyFile(join(fixture, 'tokenizer.json'), join(dir, 'tokenizer.json'))
    await writeFile(join(dir, 'tokenizer_config.json'), JSON.stringify(config))
    await writeFile(join(dir, 'config.json'), JSON.stringify({ model_type }))
    const tokenizer = await Tokenizer.load(dir)
    const expected = oracle.answers[answer]!
    const ids = (await tokenizer.encodeBatch(oracle.texts)).map(row => [...row])
    expect(ids).toEqual(expected.ids)
    const decoded = await Promise.all(ids.map(row => tokenizer.decode(row, { skipSpecialTokens: true })))
    expect(decoded).toEqual(expected.decoded)
  },
)

test('the four answers differ: what the config says is not ignored', () => {
  expect(new Set(oracle.answers.map(({ ids }) => JSON.stringify(ids))).size).toBe(4)
})
