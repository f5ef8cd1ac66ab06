/** Every code block of the docs does what it says: checks.ts lists how each is checked. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { configs } from '../../src/cli/configs.js'
import { loadRewards } from '../../src/reward/index.js'
import { fileLayer, type RawConfig } from '../../src/train/index.js'
import { temporaryDirectory } from '../support/files.js'
import { type Block, blocksOf, commandsOf, firstLine, pages, root } from './blocks.js'
import { type Check, checks, type PageChecks } from './checks.js'
import { joinedModule } from './examples.js'
import { give, makeFixtures } from './fixtures.js'
import { type } from './session.js'

const before = process.cwd()
const folder = temporaryDirectory()
const made = join(folder, 'made')
beforeAll(async () => {
  mkdirSync(made)
  await makeFixtures(made)
}, 120_000)
afterAll(() => {
  process.chdir(before)
})

const written = pages.filter(page => blocksOf(page).length > 0)

/** Where a block is that is not listed, or what is listed and is not there. */
function unlisted(blocks: readonly Block[], listed: PageChecks['blocks']): string[] {
  const missing = blocks.filter((block, i) => {
    const line = listed[i]?.[0]
    return line === undefined || !firstLine(block).startsWith(line)
  })
  return [
    ...missing.map(
      block => `${block.page}:${block.line}: checks.ts does not list this block here: ${firstLine(block)}`,
    ),
    ...listed.slice(blocks.length).map(([line]) => `checks.ts lists a block that is not there: ${line}`),
  ]
}

test.each(written)('%s: every block is listed, and every listed one is there', page => {
  expect(unlisted(blocksOf(page), checks[page]?.blocks ?? [])).toEqual([])
})

test('a block that is not listed is told with its place', () => {
  const block: Block = { page: 'docs/new.md', line: 7, info: 'sh', code: 'whetstone new\n' }
  const place = 'docs/new.md:7: checks.ts does not list this block here: whetstone new'
  expect(unlisted([block], [])).toEqual([place])
  expect(unlisted([block], [['whetstone old', { kind: 'run' }]])).toEqual([place])
  expect(unlisted([], [['whetstone old', { kind: 'run' }]])).toHaveLength(1)
})

test('the table has no page that is gone', () => {
  expect(Object.keys(checks).filter(page => !written.includes(page))).toEqual([])
})

test.each(written.filter(page => checks[page]))(
  '%s: what it says works',
  async page => {
    const own = checks[page]!
    const directory = join(folder, page.replaceAll(/\W/g, '-'))
    mkdirSync(directory)
    process.chdir(directory)
    for (const name of own.given ?? []) give(name, made)
    const blocks = blocksOf(page).map((block, i) => ({ block, check: own.blocks[i]![1] }))
    for (const { block, check } of blocks) await perform(block, check, own)
    const code = blocks.flatMap(({ block, check }) =>
      block.info === 'ts' && check.kind === 'run' ? [{ code: block.code, place: `// ${page}:${block.line}\n` }] : [],
    )
    if (code.length > 0) await runModule(joinedModule(code), join(directory, 'page.ts'))
  },
  120_000,
)

async function perform(block: Block, check: Check, { smaller = {} }: PageChecks): Promise<void> {
  const place = `${block.page}:${block.line}`
  switch (check.kind) {
    case 'run': {
      if (block.info === 'ts') return
      const left = Object.keys(check.except ?? {})
      for (const command of commandsOf(block))
        if (!left.some(line => command.line.startsWith(line))) await type(command, smaller)
      return
    }
    case 'config':
      return readConfig(block, check.of)
    case 'compile':
      // examples.slow.test.ts compiles all there are.
      return expect(block.info, place).toBe('ts')
    case 'elsewhere':
      expect(readFileSync(join(root, check.test), 'utf8'), place).toContain(block.page)
      return
    case 'shown':
      return expect(check.why, place).not.toBe('')
  }
}

/** A config as a reader would save it; one of a few lines is completed by the shortest there is. */
async function readConfig({ code }: Block, kind: string): Promise<void> {
  const name = /^# ([\w.-]+\.yaml)$/m.exec(code)?.[1]
  const file = name ?? 'block.yaml'
  if (name === undefined || !existsSync(name)) writeFileSync(file, code)
  if (kind === 'rewards') return void (await (await loadRewards(file)).close())
  const { resolve, example } = configs[kind]!
  const values = { ...(name === undefined ? parse(example) : {}), ...parse(code) } as RawConfig
  expect(() => resolve([fileLayer(file, values)])).not.toThrow()
}

async function runModule(source: string, file: string): Promise<void> {
  const room = (name: string): string => join(root, 'src', name, 'index.ts')
  writeFileSync(
    file,
    source
      .replace(/'whetstone\/(\w+)'/g, (_, name: string) => `'${room(name)}'`)
      .replaceAll("'whetstone'", `'${room('.')}'`),
  )
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    await import(/* @vite-ignore */ file)
  } finally {
    log.mockRestore()
  }
}
