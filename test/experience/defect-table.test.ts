import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { defects as rewardDefects } from '../reward/defects.js'
import { type Defect, defects } from './defects.js'
import { makerDefects } from './maker-defects.js'

/** All numbers of the list but those that it skips. */
const skipped = [76, 80, 88]
const ids = Array.from({ length: 90 }, (_, i) => i + 1)
  .filter(number => !skipped.includes(number))
  .map(number => `D-${String(number).padStart(2, '0')}`)

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts'))
  .map(name => readFileSync(`${root}/${name}`, 'utf8'))
  .join('\n')

test('every known defect has a test that would catch it, or a reason why it cannot occur', () => {
  const table: Record<string, Defect[]> = {}
  for (const part of [defects, makerDefects, rewardDefects])
    for (const [id, entry] of Object.entries(part)) table[id] = [...(table[id] ?? []), entry]
  expect(ids).toHaveLength(87)
  expect(ids.filter(id => !table[id])).toEqual([])
  expect(Object.keys(table).filter(id => !ids.includes(id))).toEqual([])
  const reasons = Object.values(table).flatMap(entries =>
    entries.flatMap(entry => ('reason' in entry ? entry.reason : [])),
  )
  expect(reasons.filter(reason => reason.length < 20)).toEqual([])
  const titles = Object.values(table).flatMap(entries =>
    entries.flatMap(entry => ('tests' in entry ? entry.tests : [])),
  )
  expect(titles.filter(title => !sources.includes(title.replaceAll("'", "\\'")) && !sources.includes(title))).toEqual(
    [],
  )
})
