import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InputError } from '../../src/errors/index.js'
import { readConfigFile } from '../../src/files/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test.each([
  ['a.yaml', 'model: dir\nlist:\n  - 1\n  - two # a comment\n'],
  ['a.json', '{"model":"dir","list":[1,"two"]}'],
  ['a.ts', "const list: (number | string)[] = [1, 'two']\nexport default { model: 'dir', list }\n"],
  ['a.mjs', "export default { model: 'dir', list: [1, 'two'] }"],
])('%s', async (name, text) => {
  expect(await readConfigFile(write(name, text))).toEqual({ model: 'dir', list: [1, 'two'] })
})

test.each([
  ['bad.yaml', 'a: [1\nb: 2\n', /bad\.yaml, line \d+, column \d+: /],
  ['bad.json', '{"a": 1,, "b": 2}', /bad\.json, line 1, column \d+: /],
  ['bad.ts', 'export default {\n  a: ,\n}\n', /bad\.ts: the module cannot be loaded: Unexpected token \(bad\.ts:2\)$/],
  [
    'lost.ts',
    "import a from './gone.js'\nexport default a",
    /lost\.ts: .*: Cannot find module '\.\/gone\.js' \(lost\.ts\)$/,
  ],
  ['none.ts', 'export const config = {}', /none\.ts: expected a module with a default export/],
  ['what.toml', 'a = 1', /what\.toml: expected a file that ends in \.yaml/],
])('%s is an error with its place', async (name, text, message) => {
  await expect(readConfigFile(write(name, text))).rejects.toThrow(message)
})

test('a file that is not there', async () => {
  await expect(readConfigFile(join(folder, 'gone.yaml'))).rejects.toThrow(/gone\.yaml: there is no such file/)
})

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
for (const [i, name] of [...'bcdefghi'].entries())
  bomb.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(', ')}]`)

test.each([
  ['bomb.yaml', bomb.join('\n'), 'its YAML aliases expand to too much; write the values out'],
  ['itself.yaml', 'model: &a [*a]\n', 'nested more than 50 levels deep, or a value contains itself'],
  [
    'section.yaml',
    'optimizer: &a { lr: 1, more: *a }\n',
    'nested more than 50 levels deep, or a value contains itself',
  ],
  ['deep.yaml', '['.repeat(30_000), 'nested more than 50 levels deep, or a value contains itself'],
  ['deep.json', `${'['.repeat(60)}${']'.repeat(60)}`, 'nested more than 50 levels deep, or a value contains itself'],
  [
    'itself.ts',
    'const config: Record<string, unknown> = {}\nconfig.optimizer = config\nexport default config\n',
    'nested more than 50 levels deep, or a value contains itself',
  ],
])('%s ends with a message', async (name, text, message) => {
  const file = write(name, text)
  const error = await readConfigFile(file).catch((thrown: Error) => thrown)
  expect(error).toBeInstanceOf(InputError)
  expect((error as Error).message).toBe(`${file}: ${message}`)
})

test.each(['folder.yaml', 'folder.ts'])('a directory of the name %s', async name => {
  mkdirSync(join(folder, name))
  await expect(readConfigFile(join(folder, name))).rejects.toThrow('it is a directory; expected a file')
})

test('a name that no file can have', async () => {
  await expect(readConfigFile('a\0.yaml')).rejects.toThrow('"a\\u0000.yaml": expected a path without NUL characters')
  await expect(readConfigFile(join(write('file.yaml', ''), 'x.yaml'))).rejects.toThrow(
    'a part of the path is a file, not a directory',
  )
})
