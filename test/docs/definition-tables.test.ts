/**
 * What the docs say of losses, estimators and algorithms comes from their definitions: tables between `<!-- definitions:NAME -->` and
 * `<!-- /definitions -->`. `npx vitest run test/docs/definition-tables.test.ts -u` writes them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { type EstimatorDefinition, estimators, type LossEntry, losses } from '../../src/maths/index.js'
import { shown } from '../../src/train/config/describe-definition.js'
import { configOptions, markdownTable } from '../../src/train/config/option-table.js'
import { type AlgorithmDefinition, algorithms } from '../../src/train/index.js'

const docs = fileURLToPath(new URL('../../docs', import.meta.url))
const pages = readdirSync(docs).filter(name => name.endsWith('.md'))
const marked = /<!-- definitions:(\w+) -->\n.*?<!-- \/definitions -->/gs
const code = (text: string): string => `\`${text}\``

/** `objective` is the sum of others, and has its own section. */
const { objective: _, ...terms } = losses
const formulas = (kept: (loss: LossEntry) => boolean, of: string): string =>
  markdownTable(
    ['loss', '', of],
    Object.entries<LossEntry>(terms)
      .filter(([, loss]) => kept(loss))
      .map(([name, { description, formula }]) => [code(name), description, formula!]),
  )

/** Options that are the same everywhere share a row, which says whose they are. */
function lossOptions(): string {
  const rows = new Map<string, { cells: string[]; of: string[] }>()
  for (const [name, { schema }] of Object.entries<{ schema: z.ZodObject }>(losses))
    for (const { name: option, initial, description } of configOptions(schema)) {
      const cells = [code(option), initial === undefined ? '' : code(initial), description]
      const row = rows.get(cells.join()) ?? { cells, of: [] }
      row.of.push(code(name))
      rows.set(cells.join(), row)
    }
  const all = [...rows.values()].map(({ cells, of }) => [...cells, of.join(', ')])
  return markdownTable(['option', 'default', '', 'of'], all)
}

const tables: Readonly<Record<string, string>> = {
  policyLosses: formulas(({ kind }) => kind === 'policy', 'per token'),
  otherLosses: formulas(({ kind }) => kind !== 'policy', 'value'),
  lossOptions: lossOptions(),
  estimators: markdownTable(
    ['estimator', 'rewards and advantages', 'samples per prompt', 'critic', 'reads'],
    Object.entries<EstimatorDefinition>(estimators).map(([name, { description, compares, values, reads, options }]) => [
      code(name),
      description,
      compares === 'nothing' ? 'any' : '2 or more',
      values === 'needed' ? 'needed' : 'none',
      [...reads, ...Object.keys(options.shape)].map(code).join(', '),
    ]),
  ),
  algorithms: markdownTable(
    ['algorithm', '', 'what it sets'],
    Object.entries<AlgorithmDefinition>(algorithms).map(([name, { description, set }]) => [
      code(name),
      description,
      Object.entries(set)
        .map(([key, value]) => code(`${key}: ${shown(value)}`))
        .join(', '),
    ]),
  ),
}

test.each(pages.filter(name => readFileSync(join(docs, name), 'utf8').includes('<!-- definitions:')))(
  'the tables of %s are the definitions',
  async name => {
    const page = readFileSync(join(docs, name), 'utf8')
    const filled = page.replaceAll(marked, (_, table: string) => {
      expect(Object.keys(tables), `${name}: <!-- definitions:${table} -->`).toContain(table)
      return `<!-- definitions:${table} -->\n\n${tables[table]}\n\n<!-- /definitions -->`
    })
    await expect(filled).toMatchFileSnapshot(join(docs, name))
  },
)

test('every table is on one page, and every loss has a formula', () => {
  const found = pages.flatMap(name => [...readFileSync(join(docs, name), 'utf8').matchAll(marked)].map(([, at]) => at))
  expect(found.sort()).toEqual(Object.keys(tables).sort())
  expect(Object.entries<LossEntry>(terms).filter(([, { formula }]) => !formula)).toEqual([])
})
