/** Help, errors, comments and docs are plain English: words and phrases that a reader has to read twice are refused. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './blocks.js'

/** Literary or archaic words, and phrases that hide who does what. Say it with a subject, a verb and an object. */
const refused = [
  ...['whoever', 'whomever', 'nobody', 'whilst', 'amongst', 'hence', 'thereof', 'thereby', 'whereupon', 'lest'],
  ...['nought', 'aught', 'forthwith', 'mend', 'mends', 'mended'],
  ...['what is said', 'is no news', 'its kin', 'their kin', 'at the door', 'without a word', 'takes the place of'],
  ...[
    'several times for several',
    'somebody',
    'anybody',
    'anew',
    'is waited for',
    'are waited for',
    'to speak of',
    'for good',
  ],
  ...['what it came to', 'has given up', 'hears no', 'whose turn it is', 'is there for'],
]
const pattern = new RegExp(`\\b(${refused.join('|')})\\b`, 'gi')

const files = (folder: string, endings: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => endings.test(name) && !name.includes('node_modules'))
    .map(name => join(folder, name))

/** The lab log is a record of past measurements. */
const pages = [
  ...files('docs', /\.md$/),
  ...files('examples', /\.(md|ts|yaml)$/),
  'README.md',
  'CONTRIBUTING.md',
].filter(page => !page.endsWith('lab-log.md'))

test.each([
  ['src', files('src', /\.(ts|cu|cuh)$/)],
  ['pages', pages],
])('%s: no word that has to be read twice', (_, names) => {
  expect(names.length).toBeGreaterThan(10)
  const found = names.flatMap(name =>
    readFileSync(join(root, name), 'utf8')
      .split('\n')
      .flatMap((line, i) => [...line.matchAll(pattern)].map(([word]) => `${name}:${i + 1}: ${word}`)),
  )
  expect(found).toEqual([])
})
