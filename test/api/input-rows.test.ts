/** What `generate` and `score` read: everything that trainings read, with errors that name the row. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { generate, LocalModel, score } from '../../src/index.js'
import { atEnd } from '../support/at-end.js'
import { cli } from '../support/cli.js'
import { fresh, jsonLines, jsonl, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'
import { tokenizer } from '../support/tokenizers.js'

const fixtures = fileURLToPath(new URL('../fixtures/data-sets', import.meta.url))
const at = (name: string): string => join(fixtures, name)
const model = await modelDirectory(1, { layers: 1, context: 512 })
const live = await LocalModel.load(model, { role: 'language', device: 'cpu' })
atEnd(() => live.dispose())
const given = { model: live, tokenizer, chatTemplate: 'none' } as const
const sums = jsonLines<{ question: string; answer: string }>(at('rows.jsonl'))

async function all<T>(made: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of made) found.push(one)
  return found
}
const asked = async (data: string | object[], rest: object = {}) =>
  (await all(generate({ ...given, data: data as string, maxNewTokens: 1, ...rest }))).map(one =>
    one.error ? [] : [...one.promptIds],
  )
const scored = (data: string | object[]) => all(score({ ...given, data: data as string }))

test('the same rows give the same prompts and scores from every form of a data set', async () => {
  const prompts = await asked(sums.map(({ question }) => ({ prompt: question })))
  expect(prompts).toHaveLength(24)
  const scores = await scored(sums.map(({ question, answer }) => ({ prompt: question, response: answer })))
  for (const name of ['rows.jsonl', 'rows.jsonl.gz', 'rows.jsonl.zst', 'rows.csv.gz', 'rows.parquet', 'rows.feather']) {
    expect(await asked(at(name)), name).toEqual(prompts)
    expect(await scored(at(name)), name).toEqual(scores)
  }
  expect(await asked(at('saved'))).toEqual(prompts)
  expect(await scored(at('rows.{jsonl,none}'))).toEqual(scores)
  const test = await asked(`${at('hub')}:main/test`)
  expect(test.length).toBeGreaterThan(0)
  expect(test.length).toBeLessThan(24)
})

test('rows of several kinds: conversations in both spellings, instructions, texts, named columns', async () => {
  const asks = { role: 'user', content: 'Hi' }
  const says = { role: 'assistant', content: 'Ho' }
  const chatting = { ...given, chatTemplate: 'auto' }
  const [openAi, shareGpt, prompt] = await asked(
    [
      { messages: [asks] },
      { conversations: [{ from: 'human', value: 'Hi' }] },
      { prompt: [asks], label: 3, messages: 'not read' },
    ],
    chatting,
  )
  expect(shareGpt).toEqual(openAi)
  expect(prompt).toEqual(openAi)
  const [alpaca, dolly] = await asked([
    { instruction: 'Add', input: '1, 2', output: '3' },
    { instruction: 'Add', context: '1, 2', response: '3' },
  ])
  expect(alpaca).toEqual([...(await tokenizer.encodePrompt('Add\n\n1, 2'))])
  expect(dolly).toEqual(alpaca)
  expect(await asked([{ q: 'Add' }], { columns: { prompt: 'q' } })).toEqual([
    [...(await tokenizer.encodePrompt('Add'))],
  ])
  expect(await asked(written('prompts.txt', 'Add\n\nSubtract\n'))).toEqual(
    await asked([{ prompt: 'Add' }, { prompt: 'Subtract' }]),
  )
  const [text, ids] = await scored([{ text: 'Add one' }, { ids: [...(await tokenizer.encodePrompt('Add one'))] }])
  expect(text).toEqual(ids)
  const talks = await all(
    score({
      ...chatting,
      data: [
        { messages: [asks, says] },
        { prompt: [asks], completion: [says] } as never,
        {
          conversations: [
            { from: 'human', value: 'Hi' },
            { from: 'gpt', value: 'Ho' },
          ],
        } as never,
      ],
    }),
  )
  for (const talk of talks) expect(talk.score === undefined && talk.logprobs[0]).toBeCloseTo(-7, -1)
  expect(talks[2]).toEqual(talks[0])
})

test('bad rows are named by file and row, and by problems', async () => {
  const packed = fresh('bad.jsonl.gz')
  writeFileSync(packed, gzipSync('{"question":"a","answer":"b"}\n{"q":1}\n{\n'))
  const error = await scored(packed).catch((error: unknown) => error)
  expect(error).toMatchObject({
    code: 'WHETSTONE_DATA',
    problems: [
      { file: packed, line: 2 },
      { file: packed, line: 3, message: expect.stringContaining('not JSON') },
    ],
  })
  const list = written('list.json', JSON.stringify([{ prompt: 'a' }, { prompt: 3 }, 4]))
  const { code, stderr } = await cli(['generate', '--model', model, '--input', list, '--output', fresh('out.jsonl')])
  expect(code).toBe(1)
  expect(stderr).toContain(`${list}: 2 bad rows\n  ${list}, row 2: prompt: expected a string\n  ${list}, row 3: `)
  const unknown = await cli([
    ...['generate', '--model', model, '--input', jsonl([{ prompt: 'a' }]), '--output', fresh('out.jsonl')],
    ...['--columns', 'promt=q'],
  ])
  expect(unknown.stderr).toContain('columns.promt: there is no such field; did you mean prompt?')
})

test('the commands read folders and pipes', async () => {
  const out = fresh('scores.jsonl')
  const shared = ['--model', model, '--chat-template', 'none', '--device', 'cpu']
  const inside = await cli(['score', ...shared, '--input', fixtures, '--output', at('x.jsonl')])
  expect(inside.stderr).toContain('is inside the input directory')
  expect((await cli(['score', ...shared, '--input', `${at('hub')}:main/test`, '--output', out])).code).toBe(0)
  expect(jsonLines(out).length).toBeGreaterThan(0)
  const pipe = fresh('pipe')
  execFileSync('mkfifo', [pipe])
  const [plain, piped] = [fresh('plain.jsonl'), fresh('piped.jsonl')]
  expect((await cli(['score', ...shared, '--input', at('rows.jsonl'), '--output', plain])).code).toBe(0)
  const writer = spawn('cp', [at('rows.jsonl'), pipe])
  atEnd(() => writer.kill())
  expect(await cli(['score', ...shared, '--input', pipe, '--output', piped])).toMatchObject({ code: 0 })
  expect(jsonLines(piped)).toEqual(jsonLines(plain))
})
