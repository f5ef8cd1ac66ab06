import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withBase } from '../../src/source/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)

function directory(name: string, files: Readonly<Record<string, unknown>>): string {
  mkdirSync(at(name))
  for (const [file, content] of Object.entries(files)) writeFileSync(join(at(name), file), JSON.stringify(content))
  return at(name)
}

const base = directory('base', { 'config.json': {} })
const named = (name: string, path?: string) =>
  directory(name, { 'adapter_config.json': path === undefined ? {} : { base_model_name_or_path: path } })

test('the directory of an adapter is its base model with it', async () => {
  const adapter = named('adapter', base)
  expect(await withBase({ model: adapter })).toEqual({ model: base, adapter })
})

test('a model, and a model with an adapter, stay as they are', async () => {
  expect(await withBase({ model: base })).toEqual({ model: base })
  expect(await withBase({ model: base, adapter: at('adapter') })).toEqual({ model: base, adapter: at('adapter') })
})

test('a base that moved, or that is not named, is an error that says what to give', async () => {
  const moved = named('moved', at('gone'))
  await expect(withBase({ model: moved })).rejects.toMatchObject({
    message: `model: ${moved} is a LoRA adapter of ${at('gone')}, which does not exist`,
    remedy: `Give the base model, and the adapter beside it: --model BASE --adapter ${moved}.`,
  })
  await expect(withBase({ model: named('nameless') })).rejects.toThrow('does not name its base model')
  await expect(withBase({ model: moved, adapter: 'other' })).rejects.toThrow('is a LoRA adapter, and other is another')
})
