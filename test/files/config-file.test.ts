import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readConfigFile } from '../../src/files/index.js'

const folder = mkdtempSync(join(tmpdir(), 'whetstone-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
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
  ['bad.ts', 'export default {', /bad\.ts: the module cannot be loaded/],
  ['none.ts', 'export const config = {}', /none\.ts: expected a module with a default export/],
  ['what.toml', 'a = 1', /what\.toml: expected a file that ends in \.yaml/],
])('%s is an error with its place', async (name, text, message) => {
  await expect(readConfigFile(write(name, text))).rejects.toThrow(message)
})

test('a file that is not there', async () => {
  await expect(readConfigFile(join(folder, 'gone.yaml'))).rejects.toThrow(/gone\.yaml: there is no such file/)
})
