import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { chooseSplit, type FolderContents, planFolder } from '../../src/data/index.js'
import { dataFolder, epochOf, tokenizer } from '../support/data.js'

const fixtures = fileURLToPath(new URL('../fixtures/data-sets', import.meta.url))
const rowsIn = (name: string) =>
  readFileSync(join(fixtures, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { question: string })
const questions = rowsIn('rows.jsonl').map(({ question }) => question)
const { folder, open, write, jsonl } = dataFolder()

/** Questions of a source, in the order of its files. */
async function questionsOf(path: string): Promise<string[]> {
  const dataset = await open('prompts', path, { shuffle: false, baseDirectory: fixtures })
  const examples = await epochOf(dataset.train(tokenizer))
  return examples.map(({ row }) => row.question as string)
}

describe('folders of save_to_disk', () => {
  it('are one data set, shard after shard', async () => {
    expect(await questionsOf('saved')).toEqual(questions)
    const { report } = await open('prompts', 'saved', { baseDirectory: fixtures })
    expect(report.files.map(({ path, rows }) => [path, rows])).toEqual([
      ['saved/data-00000-of-00003.arrow', 8],
      ['saved/data-00001-of-00003.arrow', 8],
      ['saved/data-00002-of-00003.arrow', 8],
    ])
  })

  it('have the order that the data set had', async () => {
    expect(await questionsOf('shuffled')).toEqual(rowsIn('shuffled-rows.jsonl').map(({ question }) => question))
  })

  it('of a DatasetDict have splits', async () => {
    expect(await questionsOf('dictionary')).toEqual(questions.slice(0, 16))
    expect(await questionsOf('dictionary:test')).toEqual(questions.slice(16))
    await expect(questionsOf('dictionary:tset')).rejects.toThrow(
      'dictionary: no config or split is called tset; did you mean test?; there is train, test: write dictionary:SPLIT',
    )
    const held = { validationData: 'dictionary:test', baseDirectory: fixtures }
    expect((await open('prompts', 'dictionary:train', held)).report).toMatchObject({ train: 16, validation: 8 })
  })

  it('that lack a shard, or have indices of their own, are refused', async () => {
    cpSync(join(fixtures, 'saved'), join(folder, 'lacking'), { recursive: true })
    const state = JSON.parse(readFileSync(join(folder, 'lacking/state.json'), 'utf8'))
    state._data_files.push({ filename: 'data-00003-of-00003.arrow' })
    write('lacking/state.json', JSON.stringify(state))
    await expect(open('prompts', 'lacking')).rejects.toThrow(
      'lacking/data-00003-of-00003.arrow: missing, but state.json names it; copy the whole folder',
    )
    write('lacking/state.json', JSON.stringify({ ...state, _indices_data_files: [{ filename: 'indices.arrow' }] }))
    await expect(open('prompts', 'lacking')).rejects.toThrow(/chosen by a file of indices.*save it again/)
    write('lacking/state.json', '{')
    await expect(open('prompts', 'lacking')).rejects.toThrow(/lacking\/state\.json: not JSON/)
  })
})

describe('folders as on the Hub', () => {
  it('have the configs and splits of their README', async () => {
    expect(await questionsOf('hub:main/train')).toEqual(questions.slice(0, 16))
    expect(await questionsOf('hub:main/test')).toEqual(questions.slice(16))
    expect(await questionsOf('hub:main')).toEqual(questions.slice(0, 16))
    expect(await questionsOf('hub:socratic/test')).toHaveLength(3)
    await expect(questionsOf('hub')).rejects.toThrow(
      'hub: it has several: choose a config; there is main (train, test), socratic (train, test): write hub:CONFIG/SPLIT',
    )
    await expect(questionsOf('hub:test')).rejects.toThrow('hub: it has several: choose a config')
    await expect(questionsOf('hub:mian/test')).rejects.toThrow('no config is called mian; did you mean main?')
    await expect(questionsOf('hub:main/dev')).rejects.toThrow('no split is called dev')
  })

  it('are found through links, as in the cache of the Hub', async () => {
    mkdirSync(join(folder, 'linked/main'), { recursive: true })
    for (const name of ['README.md', 'main/train-00000-of-00001.parquet'])
      symlinkSync(join(fixtures, 'hub', name), join(folder, 'linked', name))
    expect((await open('prompts', 'linked:main')).report.rows).toBe(16)
    await expect(open('prompts', 'linked:main/test')).rejects.toThrow('the split test of main has no files here')
  })

  const card = (yaml: string) => `---\n${yaml}\n---\n# Data\n`
  const plan = (names: readonly string[], readme?: string) => {
    const contents: FolderContents = {
      shown: 'D',
      names: readme === undefined ? names : ['README.md', ...names],
      read: async () => readme ?? '',
    }
    return planFolder(contents)
  }
  const files = async (names: readonly string[], name?: string, readme?: string) =>
    chooseSplit(await plan(names, readme), name === undefined ? {} : { name }, 'D')

  it.each<[string, readonly string[], string | undefined, Record<string, unknown>]>([
    [
      'shards',
      ['data/train-00000-of-00002.parquet', 'data/train-00001-of-00002.parquet', 'data/test-00000-of-00001.parquet'],
      undefined,
      {
        config: 'default',
        split: 'train',
        files: ['data/train-00000-of-00002.parquet', 'data/train-00001-of-00002.parquet'],
      },
    ],
    [
      'shards of a split of another name',
      ['data/train_sft-00000-of-00001-a1b2.parquet', 'data/test_sft-00000-of-00001-c3.parquet'],
      'test_sft',
      { split: 'test_sft' },
    ],
    [
      'files',
      ['train.jsonl', 'test.jsonl', 'LICENSE', '.gitattributes'],
      undefined,
      { split: 'train', files: ['train.jsonl'] },
    ],
    [
      'files with words around',
      ['harmless-base-test.jsonl.gz', 'harmless-base-train.jsonl.gz'],
      'test',
      { files: ['harmless-base-test.jsonl.gz'] },
    ],
    [
      'folders of configs',
      ['harmless/train.jsonl.gz', 'harmless/test.jsonl.gz', 'helpful/train.jsonl.gz'],
      'harmless/test',
      { files: ['harmless/test.jsonl.gz'] },
    ],
    ['a split that one config has', ['a/train.jsonl', 'b/test.jsonl'], 'test', { config: 'b', split: 'test' }],
    ['folders of splits', ['training/a.csv', 'training/b.csv', 'dev/a.csv'], 'validation', { files: ['dev/a.csv'] }],
    [
      'converted files',
      ['main/test/0000.parquet', 'main/train/0000.parquet', 'main/train/0001.parquet'],
      undefined,
      { config: 'main', split: 'train', files: ['main/train/0000.parquet', 'main/train/0001.parquet'] },
    ],
    [
      'one file of any name',
      ['rows.json', 'notes.txt', 'dataset_infos.json'],
      undefined,
      { config: 'default', split: 'train', files: ['rows.json'] },
    ],
  ])('without a README that says it: %s', async (_, names, name, expected) => {
    expect(await files(names, name)).toMatchObject(expected)
  })

  it('with patterns, folders and a default in the README', async () => {
    const names = ['a/one.jsonl', 'a/two.jsonl', 'b/train.csv', 'b/deep/test.csv', 'extra.jsonl']
    const readme = card(`configs:
- config_name: first
  data_files: "a/*.jsonl"
- config_name: second
  default: true
  data_dir: b
- config_name: third
  data_files:
    train: ["a/one.jsonl"]
    test: a/two.jsonl
- config_name: fourth
  data_files:
  - split: all
    path: ["extra.jsonl", "a"]`)
    expect(await files(names, 'first', readme)).toMatchObject({ split: 'train', files: ['a/one.jsonl', 'a/two.jsonl'] })
    expect(await files(names, undefined, readme)).toMatchObject({ config: 'second', files: ['b/train.csv'] })
    expect(await files(names, 'second/test', readme)).toMatchObject({ files: ['b/deep/test.csv'] })
    expect(await files(names, 'third/test', readme)).toMatchObject({ files: ['a/two.jsonl'] })
    expect((await files(names, 'fourth', readme)).files).toEqual(['a/one.jsonl', 'a/two.jsonl', 'extra.jsonl'])
  })

  it('that cannot be understood say why', async () => {
    await expect(files([])).rejects.toThrow('D: no data files in this folder')
    await expect(files(['a.jsonl', 'b.parquet'])).rejects.toThrow(
      /D: has \.jsonl and \.parquet files.*pattern: D\/\*\*\/\*\.jsonl/,
    )
    await expect(files(['test/a.jsonl'], 'x', card('configs: {a: 1}'))).rejects.toThrow(
      /README\.md: configs: not as a data set has it/,
    )
    await expect(files(['a.jsonl'], 'x', card('configs: [a'))).rejects.toThrow(/README\.md: the header is not YAML/)
    await expect(files(['dev.jsonl', 'test.jsonl'])).rejects.toThrow(
      'D: it has several: choose a split; there is validation, test: write D:SPLIT',
    )
    await expect(files(['test/train.jsonl', 'x/test.jsonl', 'train-1/y/test.csv'], 'nothing')).rejects.toThrow(
      /no config or split is called nothing/,
    )
  })
})

describe('names with a colon', () => {
  it('are paths first', async () => {
    mkdirSync(join(folder, 'set'))
    jsonl('set/train.jsonl', [{ prompt: 'a' }])
    jsonl('set:train.jsonl', [{ prompt: 'b' }, { prompt: 'c' }])
    expect((await open('prompts', 'set:train.jsonl')).report.rows).toBe(2)
    expect((await open('prompts', 'set:train')).report.rows).toBe(1)
    await expect(open('prompts', 'set/train.jsonl:test')).rejects.toThrow(/is a file, and has no part test/)
    await expect(open('prompts', 'none:test')).rejects.toThrow('none:test: expected a .jsonl')
  })
})

it('a folder and a file of it are one too many', async () => {
  mkdirSync(join(folder, 'twice'))
  mkdirSync(dirname(join(folder, 'twice/a')), { recursive: true })
  writeFileSync(join(folder, 'twice/train.jsonl'), '{"prompt":"a"}\n')
  await expect(open('prompts', ['twice', 'twice/train.jsonl'])).rejects.toThrow(/train\.jsonl is given twice/)
})
