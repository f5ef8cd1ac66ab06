import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import type { z } from 'zod'
import { aggregations, losses } from '../../src/maths/index.js'
import { temporaryDirectory } from '../support/files.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(repository, 'docs/losses.md'), 'utf8')
const example = page.match(/```ts\n(.*?)```/s)![1]!

const folder = temporaryDirectory()

const rows = page
  .split('\n')
  .filter(line => line.startsWith('|'))
  .map(line =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )

it('the table of options is the schemas', () => {
  // Options that are the same everywhere share a row, which says whose they are.
  const expected = new Map<string, { cells: string[]; of: string[] }>()
  for (const [name, { schema: all }] of Object.entries(losses))
    for (const [option, schema] of Object.entries(all.shape) as [string, z.ZodType][]) {
      const initial = schema.safeParse(undefined).data as unknown
      const shown =
        initial === undefined ? '' : `\`${typeof initial === 'string' ? initial : JSON.stringify(initial)}\``
      const cells = [`\`${option}\``, shown, schema.description!]
      const row = expected.get(cells.join()) ?? { cells, of: [] }
      row.of.push(`\`${name}\``)
      expected.set(cells.join(), row)
    }
  const start = rows.findIndex(cells => cells[0] === 'option')
  expect(rows.slice(start + 2)).toEqual([...expected.values()].map(({ cells, of }) => [...cells, of.join(', ')]))
})

it('every loss and aggregation has a row', () => {
  const first = new Set(rows.map(([cell]) => cell))
  for (const name of [...Object.keys(losses).filter(name => name !== 'objective'), ...aggregations])
    expect(first).toContain(`\`${name}\``)
})

// That it compiles is checked with all other examples.
it('the example prints what its comments say', async () => {
  const file = join(folder, 'run.ts')
  writeFileSync(
    file,
    example.replace(/'whetstone\/(\w+)'/g, (_, room) => `'${join(repository, `src/${room}/public.ts`)}'`),
  )
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ file)
  const printed = log.mock.calls.map(([value]) => value as number | Float64Array)
  log.mockRestore()
  // All numbers of the comments behind `console.log`, in their order.
  const said = [...example.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].flatMap(([, comment]) =>
    (comment!.match(/-?\d+(\.\d+)?/g) ?? []).map(Number),
  )
  const numbers = printed.flatMap(value => (typeof value === 'number' ? [value] : [...value]))
  expect(numbers.map(value => Number(value.toFixed(4)))).toEqual(said)
})
