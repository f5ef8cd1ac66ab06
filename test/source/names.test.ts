import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { locateData, locateModel, parseHubName, placedName } from '../../src/source/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
mkdirSync(join(folder, 'org/here'), { recursive: true })
mkdirSync(join(folder, 'sets/gsm'), { recursive: true })
writeFileSync(join(folder, 'rows.jsonl'), '{}\n')

test('a path that exists wins over an id, and hf: forces the Hub', () => {
  expect(placedName('org/here', 'model', folder)).toBe(join(folder, 'org/here'))
  expect(placedName('hf:org/here', 'model', folder)).toBe('hf:org/here')
  expect(placedName('org/there', 'model', folder)).toBe('hf:org/there')
  expect(placedName('Qwen/Qwen2.5-0.5B-Instruct@v1.0', 'model', folder)).toBe('hf:Qwen/Qwen2.5-0.5B-Instruct@v1.0')
  expect(placedName('org/name@refs/pr/1', 'model', folder)).toBe('hf:org/name@refs/pr/1')
  expect(placedName('hf:gpt2', 'model', folder)).toBe('hf:gpt2')
})

test('what cannot be an id is a path', () => {
  for (const name of ['model', './org/there', '../org/there', 'runs/sft/final_model', '/org/there', 'models/x.gguf'])
    expect(placedName(name, 'model', folder)).toBe(join(name.startsWith('/') ? '/' : folder, name))
  for (const name of ['data/gsm8k', 'runs/sft', 'models/tiny'])
    expect(placedName(name, 'model', folder)).toBe(join(folder, name))
  expect(placedName('hf:data/gsm8k', 'data', folder)).toBe('hf:data/gsm8k')
  for (const name of ['data/train.jsonl', 'data/*.parquet', 'data/rows.json.gz', 'data/train-{a,b}', 'rows.jsonl'])
    expect(placedName(name, 'data', folder)).toBe(join(folder, name))
})

test('a data set has a config and a split', () => {
  expect(placedName('openai/gsm8k:main/train', 'data', folder)).toBe('hf:openai/gsm8k:main/train')
  expect(parseHubName('hf:openai/gsm8k@v2:main/train', 'data')).toEqual({
    id: 'openai/gsm8k',
    revision: 'v2',
    part: 'main/train',
  })
  expect(parseHubName('openai/gsm8k:train', 'data')).toEqual({ id: 'openai/gsm8k', part: 'train' })
  expect(placedName('sets/gsm:main/train', 'data', folder)).toBe(join(folder, 'sets/gsm:main/train'))
})

test('a name that begins with hf: and is no id is refused', () => {
  expect(() => placedName('hf:a/b/c', 'model', folder)).toThrow(
    'hf:a/b/c: expected hf:org/name or hf:org/name@revision',
  )
  expect(() => placedName('hf:', 'data', folder)).toThrow('expected hf:org/name, hf:org/name@revision or hf:org/name:')
  expect(() => placedName('hf:a/b@../../x', 'model', folder)).toThrow('expected hf:org/name')
  // A model has no splits.
  expect(() => placedName('hf:a/b:train', 'model', folder)).toThrow('expected hf:org/name')
})

test('paths are given back', async () => {
  expect(await locateModel('org/here', { directory: folder })).toEqual({
    directory: join(folder, 'org/here'),
    origin: { kind: 'path' },
  })
  expect(await locateData('rows.jsonl', { directory: folder })).toEqual({
    path: join(folder, 'rows.jsonl'),
    origin: { kind: 'path' },
  })
})
