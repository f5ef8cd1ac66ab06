import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { dataOptionsShape, type ExampleKind } from '../../src/data/index.js'
import { dataFolder, epochOf, tokenizer } from '../support/data.js'

const page = readFileSync(new URL('../../docs/data.md', import.meta.url), 'utf8')
const { open, write } = dataFolder()

it.each([...page.matchAll(/^```jsonl (\w+)\n(.*?)^```$/gms)].map(([, kind, rows]) => ({ kind: kind!, rows: rows! })))(
  'every row that the page shows of $kind is one',
  async ({ kind, rows }) => {
    const dataset = await open(kind as ExampleKind, write(`${kind}.jsonl`, rows))
    expect(dataset.report.rows).toBe(rows.trimEnd().split('\n').length)
    const examples = await epochOf(dataset.train(tokenizer))
    expect(examples.length).toBeGreaterThanOrEqual(dataset.report.rows)
  },
)

it('every kind is shown', () => {
  const shown = [...page.matchAll(/^```jsonl (\w+)$/gm)].map(([, kind]) => kind)
  expect(shown).toEqual(['conversations', 'preferences', 'labelled', 'prompts'])
})

it('the table of options is the schema', () => {
  const table = page.split('## Options')[1]!.split('\n\n')[1]!
  const rows = [...table.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, text]) => [name, text])
  const escaped = (text: string) => text.replaceAll('|', '\\|')
  expect(rows).toEqual(
    Object.entries(dataOptionsShape).map(([name, field]) => [name, escaped(field.description ?? 'not described')]),
  )
})
