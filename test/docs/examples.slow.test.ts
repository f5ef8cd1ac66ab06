import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/files.js'
import { commentExamples, context, type Example, pageExamples } from './examples.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
beforeAll(() => {
  folder = temporaryDirectory()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'context.ts'), context)
  const compilerOptions = {
    noEmit: true,
    rootDir: '/',
    // An example shows how something is made; what is done with it is the reader's affair.
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: false,
    paths: { whetstone: [join(root, 'src/index.ts')], 'whetstone/*': [join(root, 'src/*/public.ts')] },
  }
  const extended = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(extended))
})

function compile(examples: readonly Example[]): string {
  for (const { name, code } of examples) writeFileSync(join(folder, name), code)
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  for (const { name } of examples) rmSync(join(folder, name))
  return stdout
}

test('every code block of the docs and of doc comments compiles as strictly as the project', () => {
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`)]
  const examples = [
    ...pages.filter(name => name.endsWith('.md')).flatMap(page => pageExamples(root, page)),
    ...commentExamples(root),
  ]
  expect(examples.length).toBeGreaterThan(60)
  // One that is wrong shows that mistakes are seen.
  const wrong = { name: 'wrong.ts', code: 'export const first: number = [1][0]\n' }
  expect(compile([...examples, wrong])).toMatch(/^wrong\.ts\(1,14\): error TS2322: [^\n]*\n[^\n]*\n$/)
}, 120_000)
