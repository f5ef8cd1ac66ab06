/** What rewards need of the data is checked over all of it before anything runs; what they measure is logged. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkData, planRl } from '../../../src/train/index.js'
import { fresh, written } from '../../support/files.js'
import { configOf, metricLines, modelDirectory, quickly, start } from '../../support/rl.js'
import { tokenizer } from '../../support/tokenizers.js'

const model = await modelDirectory(9, { layers: 1 })
const rows = (list: readonly object[]): string =>
  written('prompts.jsonl', list.map(row => `${JSON.stringify(row)}\n`).join(''))
const many = (count: number, row: (i: number) => object): object[] => Array.from({ length: count }, (_, i) => row(i))

const byLabel = written(
  'by-label.yaml',
  `sources:
  right: { type: rule, rule: numeric-answer }
  short: { type: rule, rule: length, unit: words, max: 9 }
rewardRecipe:
  maths: [[rule, right, 1]]
  chat: [[rule, short, 1], [rule, right, 0]]
`,
)

const wrong: [string, object, RegExp][] = [
  ['a label without a recipe', { prompt: 'x', label: 'code' }, /:300: no reward recipe for the label "code"/],
  ['no label', { prompt: 'x' }, /:300: a sample has no label/],
  ['no target', { prompt: 'x', label: 'maths' }, /:300: reward "right" needs a target.*row has none/],
]

test.each(wrong)('a row late in the data with %s is refused before anything is made', async (_, row, message) => {
  const good = many(299, i => ({
    prompt: `p${i}`,
    label: i % 2 ? 'chat' : 'maths',
    ...(i % 2 ? {} : { reference: '1' }),
  }))
  const output = fresh('run')
  const options = quickly({ model, data: rows([...good, row]), rewards: byLabel, output })
  await expect(start(options)).rejects.toThrow(message)
  expect(existsSync(output)).toBe(false)
  const { signal } = new AbortController()
  await expect(checkData(planRl(configOf(options)), { tokenizer, signal })).rejects.toThrow(message)
  await expect(start({ ...options, iterations: 1, maxBadRows: 1 })).resolves.toMatchObject({ outcome: 'finished' })
})

test('validation data is checked as well', async () => {
  const data = rows(many(4, i => ({ prompt: `p${i}`, label: 'chat' })))
  const options = quickly({ model, data, validationData: rows([{ prompt: 'x', label: 'maths' }]), rewards: byLabel })
  await expect(start({ ...options, output: fresh('run') })).rejects.toThrow(/needs a target/)
})

test("a reward's metrics reach metrics.jsonl and samples.jsonl", async () => {
  const rewards = written(
    'measures.mjs',
    `export default ({ response, sample }) => ({ reward: sample, metrics: { characters: response.length, odd: sample % 2 } })\n`,
  )
  const output = fresh('run')
  const data = rows(many(4, i => ({ prompt: `p${i}` })))
  await start(quickly({ model, data, rewards, output, iterations: 1 }))
  const [line] = await metricLines(output)
  expect(line!.values['reward/metric/odd']).toBe(0.5)
  expect(line!.values['reward/metric/characters']).toBeGreaterThan(0)
  const samples = (await readFile(join(output, 'logs', 'samples.jsonl'), 'utf8')).trimEnd().split('\n')
  for (const text of samples) {
    const { response, metrics, sample } = JSON.parse(text)
    expect(metrics).toEqual({ characters: expect.any(Number), odd: sample % 2 })
    expect(response).toEqual(expect.any(String))
  }
})
