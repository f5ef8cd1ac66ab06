import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { DataError, readPrompts } from '../../src/data/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()

let count = 0
function file(content: string | Uint8Array, name = 'jsonl'): string {
  const path = join(folder, `${count++}.${name}`)
  writeFileSync(path, content)
  return path
}
const lines = (...rows: unknown[]) => file(rows.map(row => JSON.stringify(row)).join('\n'))

describe('prompt files', () => {
  it('have prompts as texts or messages, labels, references, and every other column', async () => {
    const messages = [{ role: 'user', content: 'Hi' }]
    const { prompts, description } = await readPrompts(
      lines(
        { prompt: '2+2?', label: 'maths', reference: 4, level: 1 },
        { messages, reference: ['hello', 'hi'], level: null },
        { input: 'x', extra_info: { label: 'chat' }, reward_model: { ground_truth: 'y' } },
      ),
    )
    expect(prompts.map(({ where: _, row: _row, ...rest }) => rest)).toEqual([
      { prompt: '2+2?', label: 'maths', target: '4' },
      { prompt: messages, target: ['hello', 'hi'] },
      { prompt: 'x', label: 'chat', target: 'y' },
    ])
    expect(prompts[0]!.row).toEqual({ prompt: '2+2?', label: 'maths', reference: 4, level: 1 })
    expect(prompts[1]!.where).toMatch(/\.jsonl:2$/)
    expect(description.split('\n')).toEqual([
      '  prompt        string (in 1 of 3 rows)',
      '  label         string (in 1 of 3 rows)',
      '  reference     number | string[] (in 2 of 3 rows)',
      '  level         null | number (in 2 of 3 rows)',
      '  messages      { content, role }[] (in 1 of 3 rows)',
      '  input         string (in 1 of 3 rows)',
      '  extra_info    { label } (in 1 of 3 rows)',
      '  reward_model  { ground_truth } (in 1 of 3 rows)',
    ])
  })

  it('are read by a schema, which types the row', async () => {
    const schema = z.object({ question: z.string(), answer: z.string().transform(Number) })
    const columns = { prompt: 'question', target: 'answer' }
    const { prompts } = await readPrompts(lines({ question: 'a?', answer: '7' }), { schema, columns })
    expectTypeOf(prompts[0]!.row).toEqualTypeOf<{ question: string; answer: number }>()
    expect(prompts).toMatchObject([{ prompt: 'a?', target: '7', row: { question: 'a?', answer: 7 } }])
    const json = { type: 'object', properties: { prompt: { type: 'string' }, n: { type: 'integer' } }, required: ['n'] }
    await expect(readPrompts(lines({ prompt: 'x' }), { schema: json })).rejects.toThrow(/n: missing/)
    await expect(readPrompts(lines({ prompt: 'x', n: 1 }), { schema: json })).resolves.toMatchObject({ prompts: [{}] })
    await expect(readPrompts(lines({ prompt: 'x' }), { schema: { $ref: '#/no' } })).rejects.toThrow(/row schema: not a/)
  })

  it('may be a list in a .json file; marks, line ends and blank lines at the end do not matter', async () => {
    expect((await readPrompts(file('\uFEFF[{"prompt":"a"},{"prompt":"b"}]', 'json'))).prompts).toHaveLength(2)
    expect((await readPrompts(file('\uFEFF{"prompt":"a"}\r\n{"prompt":"b\u2028c"}\r\n\r\n'))).prompts).toMatchObject([
      { prompt: 'a' },
      { prompt: 'b\u2028c' },
    ])
  })

  it('may be a table or lines of text', async () => {
    const { prompts } = await readPrompts(file('prompt,reference,level\n"a, ""b""",4,1\n', 'csv'))
    expect(prompts).toMatchObject([{ prompt: 'a, "b"', target: '4', row: { level: '1' } }])
    expect((await readPrompts(file('one\n\ntwo\n', 'txt'))).prompts).toMatchObject([
      { prompt: 'one' },
      { prompt: 'two' },
    ])
  })

  it('with bad rows are refused whole, each with its line, its field, and what to do', async () => {
    const path = file(
      [
        '{"prompt":"ok","answer":"1"}',
        '{"prompt":"cut',
        '[1]',
        '{"prompt":"  ","answer":"1"}',
        '{"prompt":3,"answer":"1"}',
        '{"prompt":"x"}',
        '{"prompt":"x","answr":"1"}',
        '{"prompt":"x","answer":1}',
        '',
        '{"answer":"1"}',
      ].join('\n'),
    )
    const error: Error = await readPrompts(path, { schema: z.object({ answer: z.string() }) }).then(
      () => raise(),
      error => error,
    )
    expect(error).toBeInstanceOf(DataError)
    expect(error.message.replaceAll(path, 'F').split('\n')).toEqual([
      'F: 9 bad rows',
      expect.stringMatching(/^ {2}F:2: not JSON/),
      '  F:3: expected an object of columns, got a list',
      '  F:4: prompt: empty; add text, or remove the row',
      '  F:5: prompt: expected a text, or a list of messages with a role and a content',
      '  F:6: answer: missing (its columns are: prompt); add it to the row, or make it optional in the schema',
      '  F:7: answer: missing; did you mean answr?; add it to the row, or make it optional in the schema',
      '  F:8: answer: expected string, received number; change the row or the schema',
      '  F:9: an empty line between rows; remove it',
      '  F:10: no prompt: expected a column prompt, messages, question or another common name; set columns to choose one of answer',
    ])
  })

  it.each<[string, () => string, RegExp]>([
    ['nothing in it', () => file(''), /no rows/],
    ['another ending', () => file('a,b', 'xlsx'), /expected a \.jsonl, .* file; save the dataset as/],
    ['no list', () => file('{}', 'json'), /expected a list of rows/],
    ['half a list', () => file('[{', 'json'), /not JSON/],
    ['no file', () => join(folder, 'none.jsonl'), /no such file/],
    ['no .json file', () => join(folder, 'none.json'), /there is no such file/],
    ['bytes that are no text', () => file(Buffer.from([0x22, 0xff, 0x22])), /:1: expected UTF-8 text/],
    ['an id twice', () => lines({ id: 1, prompt: 'a' }, { id: 1, prompt: 'b' }), /id: 1 is already the id of .*:1/],
    ['a label that is no text', () => lines({ prompt: 'a', label: 3 }), /label: expected the name of a recipe as text/],
    [
      'a reference that is no text',
      () => lines({ prompt: 'a', reference: {} }),
      /reference: expected a text, a number/,
    ],
    ['messages that are none', () => lines({ messages: [{ content: 'x' }] }), /expected a text, or a list of messages/],
  ])('with %s are refused', async (_, path, message) => {
    await expect(readPrompts(path())).rejects.toThrow(message)
  })

  it('with a column that is named and not there are refused', async () => {
    const path = lines({ prompt: 'a' })
    for (const [columns, message] of [
      [{ prompt: 'question' }, /question: missing; the row has prompt/],
      [{ label: 'kind' }, /kind: missing; every row needs a label/],
      [{ target: 'answer' }, /answer: missing; every row needs a target/],
      [{ reference: 'answer' } as object, /columns\.reference: there is no such field; did you mean target\?/],
    ] as const)
      await expect(readPrompts(path, { columns })).rejects.toThrow(message)
  })

  it('many bad rows are counted, not all listed', async () => {
    const path = lines(...new Array(25).fill({ prompt: '' }))
    await expect(readPrompts(path, { listed: 2 })).rejects.toThrow(/25 bad rows(\n.*){2}\n {2}and 23 more$/)
  })
})

function raise(): never {
  throw new Error('expected an error')
}
