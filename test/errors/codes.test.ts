/** Errors have codes that stay, and say one by one what is wrong with a config or with rows. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DataError, openDataset } from '../../src/data/index.js'
import { ModelError } from '../../src/decoder/index.js'
import {
  ConfigError,
  errorCodes,
  InputError,
  type Problem,
  problemOf,
  refuse,
  rowProblem,
  WhetstoneError,
} from '../../src/errors/index.js'
import { readConfigFile } from '../../src/files/index.js'
import { sft } from '../../src/index.js'
import { fileLayer, settingsLayer, trainings } from '../../src/train/index.js'
import { root } from '../docs/blocks.js'
import { written } from '../support/files.js'

async function problemsOf(work: () => unknown): Promise<{ code: string; problems: readonly Problem[] }> {
  try {
    await work()
  } catch (error) {
    expect(error).toBeInstanceOf(WhetstoneError)
    const { code, problems } = error as WhetstoneError
    return { code, problems }
  }
  return expect.fail('it did not throw')
}

test('every problem of a config has its file and line, its path, and what was expected', async () => {
  const file = written(
    'sft.yaml',
    'model: m\n\noptimizer:\n  lr: fast\nbatchsize: 3\nlora: {rank: 0}\nloggers: [tensorbord]\n',
  )
  const layers = [fileLayer(file, await readConfigFile(file)), settingsLayer(['seed=-1'])]
  const { code, problems } = await problemsOf(() => trainings.sft.resolve(layers))
  expect(code).toBe('WHETSTONE_CONFIG')
  const shown = problems.map(({ message: _, ...rest }) => rest)
  expect(shown).toContainEqual({ file, line: 4, path: 'optimizer.lr', expected: 'a number', got: '"fast"' })
  expect(shown).toContainEqual({ file, line: 5, path: 'batchsize', hint: 'did you mean batchSize?' })
  expect(shown).toContainEqual({ file, line: 6, path: 'lora.rank', expected: 'a number of at least 1', got: '0' })
  expect(shown).toContainEqual({ file: '--set', path: 'seed', expected: 'a number of at least 0', got: '-1' })
  expect(shown.find(({ path }) => path === 'loggers.0')).toMatchObject({ file, line: 7, got: '"tensorbord"' })
  expect(problems.find(({ path }) => path === 'data')).toMatchObject({
    file,
    message: expect.stringContaining('data: missing; '),
  })
})

test('a program that gives wrong options gets the same', async () => {
  const wrong = sft({ model: 'm', data: 'd.jsonl', epochs: 0 })
  const { code, problems } = await problemsOf(() => wrong)
  expect(code).toBe('WHETSTONE_CONFIG')
  expect(problems).toEqual([
    {
      file: 'sft',
      path: 'epochs',
      message: 'epochs: expected a number of at least 1, got 0',
      expected: 'a number of at least 1',
      got: '0',
    },
  ])
})

test('bad rows have their file, line and column', async () => {
  const file = written('rows.jsonl', '{"prompt":"a","completion":"b"}\nnot json\n{"prompt":3,"completion":"b"}\n')
  const open = () =>
    openDataset('conversations', file, {
      validationShare: 0,
      trainOn: 'assistant',
      maxBadRows: 0,
      shuffle: true,
      chatTemplate: 'none',
      seed: 0,
      baseDirectory: '.',
    })
  const { code, problems } = await problemsOf(open)
  expect(code).toBe('WHETSTONE_DATA')
  expect(problems.map(({ file: name, line }) => [name, line])).toEqual([
    [file, 2],
    [file, 3],
  ])
  expect(problems[1]!.path).toBe('prompt')
})

test('an error that adds an option keeps the code and the problems', () => {
  const inner = new ModelError('m: there is no config.json')
  expect(() => refuse('model', inner)).toThrow(InputError)
  try {
    refuse('model', inner)
  } catch (error) {
    expect(error).toMatchObject({ code: 'WHETSTONE_MODEL', problems: [{ path: 'model' }] })
  }
  const rows = new DataError('bad', {
    problems: [rowProblem('a.csv:7', 'label: expected true or false, got 3; fix it')],
  })
  expect(new InputError('data: bad', { cause: rows })).toMatchObject({
    code: 'WHETSTONE_DATA',
    problems: [{ file: 'a.csv', line: 7, path: 'label', expected: 'true or false', got: '3', hint: 'fix it' }],
  })
  expect(new ConfigError([problemOf('a: is odd')]).message).toBe('a: is odd')
})

/** Every class of errors for people, as the code has them. */
const classes = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .flatMap(file => [
    ...readFileSync(join(root, 'src', file), 'utf8').matchAll(/class (\w+) extends (\w+) \{([\s\S]*?)\n\}/g),
  ])
  .map(([, name, base, body]) => ({ name: name!, base: base!, code: /code: ErrorCode = '(\w+)'/.exec(body!)?.[1] }))

test('every class of errors has a code of the table, and every code is used', () => {
  const used = classes.flatMap(({ code }) => (code === undefined ? [] : [code]))
  expect([...new Set(used)].sort()).toEqual(Object.keys(errorCodes).sort())
  const bare = classes.filter(({ base, code }) => base === 'WhetstoneError' && code === undefined)
  expect(bare).toEqual([])
})

test('docs/errors.md has the table', async () => {
  const rows = Object.entries(errorCodes).map(([code, about]) => {
    const thrown = classes.filter(one => one.code === code).map(({ name }) => `\`${name}\``)
    return [`\`${code}\``, thrown.join(', '), about]
  })
  const table = [['code', 'class', 'when'], ...rows]
  const widths = table[0]!.map((_, i) => Math.max(...table.map(row => row[i]!.length)))
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!, fill)).join(' | ')} |`
  const text = [line(table[0]!), line(['', '', ''], '-'), ...rows.map(row => line(row))].join('\n')
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const marked = page.replace(
    /(<!-- codes -->\n)[\s\S]*?(\n<!-- end -->)/,
    (_, before: string, after: string) => `${before}${text}${after}`,
  )
  await expect(marked).toMatchFileSnapshot(join(root, 'docs/errors.md'))
})
