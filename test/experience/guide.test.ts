import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { experienceShape } from '../../src/experience/index.js'
import { makeModel } from '../support/experience.js'
import { temporaryDirectory } from '../support/files.js'
import { tokenizerPath } from '../support/tokenizers.js'

const page = readFileSync(new URL('../../docs/experience.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!)

const folder = temporaryDirectory()
const before = process.cwd()
beforeAll(async () => {
  const directory = join(folder, 'model')
  mkdirSync(directory)
  const model = await makeModel('language')
  await model.export(directory, { what: 'model' })
  for (const name of readdirSync(tokenizerPath))
    if (/^(tokenizer|chat_template)/.test(name)) copyFileSync(join(tokenizerPath, name), join(directory, name))
  process.chdir(folder)
})
afterAll(() => {
  process.chdir(before)
})

test('the code of the guide runs, from top to bottom', async () => {
  expect(blocks.length).toBeGreaterThan(5)
  const room = (name: string): string => fileURLToPath(new URL(`../../src/${name}/public.ts`, import.meta.url))
  const imports = blocks.flatMap(code => code.match(/^import .*$/gm) ?? [])
  const rest = blocks.map(code => code.replace(/^import .*$\n?/gm, ''))
  const file = join(folder, 'guide.ts')
  const closing =
    'await generator.close()\nfor (const model of [actor, reference, critic, quality, safety]) model.dispose()'
  const code = [...new Set(imports), ...rest, closing].join('\n')
  writeFileSync(
    file,
    code.replace(/'whetstone\/(\w+)'/g, (_, name: string) => `'${room(name)}'`),
  )
  const printed: unknown[][] = []
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => void printed.push(values))
  try {
    await import(file)
  } finally {
    log.mockRestore()
  }
  expect(printed.length).toBeGreaterThan(6)
  expect(printed.flat().some(value => Number.isNaN(value))).toBe(false)
})

test('the table of options is the schema', () => {
  const cells = page.split('\n').map(
    line =>
      `| ${line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim())
        .join(' | ')} |`,
  )
  for (const [name, schema] of Object.entries(experienceShape)) {
    const initial = schema.safeParse(undefined).data
    const shown = initial === undefined ? '' : `\`${typeof initial === 'string' ? initial : JSON.stringify(initial)}\``
    expect(cells).toContain(`| \`${name}\` | ${shown} | ${schema.description} |`)
  }
})
