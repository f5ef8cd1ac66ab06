import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { rewardFiles } from '../../src/reward/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
const put = (name: string, text: string): string => {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}
const names = (files: readonly string[]): string[] => files.map(file => relative(folder, file))

test('a module with everything it imports by a path, however it is written', async () => {
  const main = put(
    'reward.ts',
    `import { a } from './lib/a.js'
import './lib/effect'
import type { Row } from "../rows.js"
export * from './lib/all'
import z from 'zod'
import { temporaryDirectory } from '../support/files.js'
const lazily = async () => import('./lib/lazy.mjs')
const old = require('./lib/old.cjs')
const words = new URL('./words.txt', import.meta.url), more = new URL("more.txt", import.meta.url)
// import './lib/missing.js'
export default () => 1
`,
  )
  put('lib/a.ts', `import './b.js'\nimport data from './data.json' with { type: 'json' }\nexport const a = 1`)
  put('lib/b.ts', `import { a } from './a.js' // a circle`)
  for (const name of ['effect.ts', 'all/index.ts', 'lazy.mjs', 'old.cjs', 'data.json', 'unrelated.ts'])
    put(`lib/${name}`, '')
  for (const name of ['words.txt', 'more.txt', 'zod']) put(name, '')
  const { files, models } = await rewardFiles(main)
  expect(names(files)).toEqual([
    'reward.ts',
    ...['lib/a.ts', 'lib/all/index.ts', 'lib/b.ts', 'lib/data.json', 'lib/effect.ts', 'lib/lazy.mjs', 'lib/old.cjs'],
    ...['more.txt', 'words.txt'],
  ])
  expect(models).toEqual([])
})

test('a description with its modules, certificates and models', async () => {
  put('own/reward.mjs', `import './helper.mjs'`)
  put('own/helper.mjs', '')
  const main = put(
    'rewards.yaml',
    `sources:
  own: { type: function, file: own/reward.mjs }
  far: { type: remote, url: 'https://example.org', caFile: ca.pem }
  model: { type: model, path: rm }
  rule: { type: rule, rule: length }
weights: { own: 1 }
`,
  )
  const { files, models } = await rewardFiles(main)
  expect(names(files)).toEqual(['rewards.yaml', 'own/reward.mjs', 'own/helper.mjs', 'ca.pem'])
  expect(names(models)).toEqual(['rm'])
})
