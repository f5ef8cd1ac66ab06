import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, vi } from 'vitest'
import { aggregations } from '../../src/maths/index.js'
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

it('every aggregation has a row', () => {
  const first = new Set(rows.map(([cell]) => cell))
  for (const name of aggregations) expect(first).toContain(`\`${name}\``)
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
