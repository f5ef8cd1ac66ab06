import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { checkRooms } from '../../tools/check-rooms.mjs'
import { temporaryDirectory } from '../support/files.js'

let source: string
beforeEach(() => {
  source = temporaryDirectory()
})

const rooms = { low: [], high: ['low'], experience: [] }

function check(files: Record<string, string>, allowed: Record<string, readonly string[]> = rooms): string[] {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), text)
  }
  return checkRooms(source, allowed).map(problem => problem.replace(/^.*whetstone-rooms-\w+\//, ''))
}

test("this project's own rooms are in order", () => {
  expect(checkRooms(fileURLToPath(new URL('../../src', import.meta.url)))).toEqual([])
})

test('through the index, downwards, is what imports are for', () => {
  const files = {
    'low/index.ts': "export * from './a.js'\n",
    'low/deep/b.ts': "import { a } from '../a.js'\nimport 'node:fs'\n",
    'high/a.ts': "import { a } from '../low/index.js'\n// import { b } from '../low/deep/b.js'\n",
    'high/deep/b.ts': "const low = await import('../../low/index.js')\n",
  }
  expect(check(files)).toEqual([])
})

test.each<[string, string, string]>([
  ['low/a.ts', "\nimport { b } from '../high/index.js'\n", 'low/a.ts:2: low may not import high; move what both need'],
  [
    'high/a.ts',
    "import {\n  b,\n} from '../low/b.js'\n",
    "high/a.ts:3: import from '../low/index.js', and export there",
  ],
  ['high/a/b.ts', "export { b } from '../../low/b/index.js'\n", "high/a/b.ts:1: import from '../../low/index.js'"],
  ['high/a.ts', "const b = import('../low/b.js')\n", "high/a.ts:1: import from '../low/index.js'"],
  ['high/a.ts', "import 'node:fs'\nimport b from '../../b.js'\n", 'high/a.ts:2: ../../b.js lies outside src/'],
  ['a.ts', '', 'a.ts: a file outside the rooms'],
  ['attic/a.ts', '', 'attic/a.ts: there is no room "attic"; add it and its arrows'],
  [
    'experience/a.ts',
    "import { readFileSync } from 'node:fs'\n",
    'experience/a.ts:1: experience does no input or output',
  ],
])('%s: %j', (name, text, problem) => {
  const found = check({ 'high/use.ts': "import '../low/index.js'\n", [name]: text })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(problem)
})

test('an arrow that no import uses', () => {
  expect(
    check({ 'high/a.ts': "import type { A } from '../low/index.js'\n" }, { low: [], high: ['low'], top: ['low'] }),
  ).toEqual(['tools/check-rooms.mjs: no import uses the arrow from top to low; remove the arrow'])
})

test('a second door, to files of runs, reaches no tensor', () => {
  const allowed = { tensor: [], low: ['tensor'], high: ['low'] }
  const files = {
    'tensor/index.ts': '',
    'low/index.ts': "export { b } from './b.js'\n",
    'low/b.ts': "import { t } from '../tensor/index.js'\n",
    'low/records.ts': "import type { B } from './b.js'\nexport { c } from './c.js'\n",
    'low/c.ts': '',
    'high/a.ts': "import { c } from '../low/records.js'\n",
  }
  expect(check(files, allowed)).toEqual([])
  expect(check({ 'low/c.ts': "import { b } from './b.js'\n" }, allowed)).toEqual([
    'low/records.ts is for reading files alone, and computes: low/records.ts -> low/c.ts -> low/b.ts -> tensor/index.ts',
  ])
})

test.each<[string, string, number]>([
  ["import { b } from './b.js'\n", "export { a } from './a.js'\n", 1],
  ["import {\n  b,\n  type C,\n} from './b.js'\n", "const a = import('./a.js')\n", 1],
  ["import type { B } from './b.js'\n", "import { a } from './a.js'\n", 0],
  ["import { type B, type C } from './b.js'\n", "import { a } from './a.js'\n", 0],
  ["export type { B } from './b.js'\nimport { c } from './c.js'\n", "import { a } from './a.js'\n", 0],
])('files that import each other: %j, %j', (a, b, cycles) => {
  const found = check({ 'low/a.ts': a, 'low/b.ts': b }, { low: [] })
  const cycle = 'a cycle of imports: low/a.ts -> low/b.ts -> low/a.ts; move what both need to a file below'
  expect(found).toEqual(cycles === 1 ? [cycle] : [])
})

test('a table that leads back to where it began', () => {
  const found = check({}, { a: ['b'], b: ['c'], c: ['a'] })
  expect(found).toContain('tools/check-rooms.mjs: a cycle of rooms: a -> b -> c -> a')
})
