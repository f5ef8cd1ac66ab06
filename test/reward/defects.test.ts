import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { defects } from './defects.js'

const sources = ['../reward/', '../data/'].flatMap(folder => {
  const directory = fileURLToPath(new URL(folder, import.meta.url))
  const files = readdirSync(directory).filter(name => name.endsWith('.test.ts') && name !== 'defects.test.ts')
  return files.map(name => readFileSync(directory + name, 'utf8'))
})
const all = sources.join('\n')

it.each(Object.entries(defects))('%s has a reason, or tests that are there', (_, defect) => {
  if ('reason' in defect) expect(defect.reason).not.toBe('')
  else
    for (const title of defect.tests) expect(all.includes(`'${title}'`) || all.includes(`"${title}"`), title).toBe(true)
})
