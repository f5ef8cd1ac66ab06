import { describe, expect, it } from 'vitest'
import { dataOptionsSchema, inspectData } from '../../src/data/index.js'
import { dataFolder } from '../support/data.js'
import { decode, exampleReader } from '../support/examples.js'

const files = dataFolder()
const examplesOf = exampleReader(files)

const promptText = async (row: object, options = {}): Promise<unknown> =>
  (await examplesOf('prompts', [row], { chatTemplate: 'none', ...options }))[0]!.prompt

const system = '<|im_start|>system\nBe brief.<|im_end|>\n'
const asked = '<|im_start|>user\nHi<|im_end|>\n'
const answered = '<|im_start|>assistant\nYo<|im_end|>'
const turns = [
  { from: 'human', value: 'Hi' },
  { from: 'gpt', value: 'Yo' },
]

describe('common names', () => {
  it.each<[object, Record<string, string>]>([
    [
      { prompt: 'Hi', completion: 'Yo' },
      { prompt: 'prompt', completion: 'completion' },
    ],
    [
      { question: 'Hi', answer: 'Yo' },
      { question: 'prompt', answer: 'completion' },
    ],
    [
      { query: 'Hi', response: 'Yo' },
      { query: 'prompt', response: 'completion' },
    ],
    [
      { problem: 'Hi', solution: 'Yo' },
      { problem: 'prompt', solution: 'completion' },
    ],
    [
      { instruction: 'Hi', output: 'Yo' },
      { instruction: 'prompt', output: 'completion' },
    ],
    [
      { instruction: 'Hi', input: '', output: 'Yo' },
      { instruction: 'prompt', output: 'completion' },
    ],
    [
      { input: 'Hi', output: 'Yo' },
      { input: 'prompt', output: 'completion' },
    ],
    [
      { input: 'Hi', target: 'Yo' },
      { input: 'prompt', target: 'completion' },
    ],
    [
      { inputs: 'Hi', targets: 'Yo' },
      { inputs: 'prompt', targets: 'completion' },
    ],
    [
      { prompt: 'Hi', response: 'Yo' },
      { prompt: 'prompt', response: 'completion' },
    ],
    [{ conversations: turns }, { conversations: 'messages' }],
    [{ conversation: turns }, { conversation: 'messages' }],
    [{ messages: turns.map(({ from, value }) => ({ role: from, content: value })) }, { messages: 'messages' }],
  ])('%j is a conversation, and data inspect says what is what', async (row, roles) => {
    for (const [given, before] of [
      [row, ''],
      [{ ...row, system: 'Be brief.' }, system],
      [{ ...row, system_prompt: 'Be brief.' }, system],
      [{ ...row, system: null, system_prompt: '' }, ''],
    ] as const) {
      const [example] = await examplesOf('conversations', [given])
      expect((await decode(example!.sequence)).trimEnd()).toBe(before + asked + answered)
      const name = before === '' ? {} : { ['system' in given ? 'system' : 'system_prompt']: 'system' }
      expect(await rolesOf(given)).toEqual({ ...roles, ...name })
    }
  })
})

/** What `data inspect` says that columns are used as. */
async function rolesOf(row: object): Promise<Record<string, string | undefined>> {
  const options = { ...dataOptionsSchema.parse({}), baseDirectory: files.folder, rendered: 0 }
  const { columns } = await inspectData(files.jsonl('roles.jsonl', [row]), options)
  return Object.fromEntries(columns.filter(({ role }) => role !== undefined).map(({ name, role }) => [name, role]))
}

describe('a column with a system message', () => {
  const row = { prompt: 'Hi', system: 'Be brief.' }
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ]

  it('is the first turn of prompts, pairs and labelled answers', async () => {
    expect(await promptText(row)).toEqual(messages)
    const [pair] = await examplesOf('preferences', [{ ...row, chosen: 'Yo', rejected: 'No' }])
    expect(await decode(pair!.chosen)).toBe(system + asked + answered)
    const [labelled] = await examplesOf('labelled', [{ ...row, completion: 'Yo', label: true }])
    expect(await decode(labelled!.sequence)).toBe(system + asked + answered)
  })

  it('wins over the config, gives way to a system turn, and goes where a template wants it', async () => {
    expect(await promptText(row, { systemPrompt: 'Talk.' })).toEqual(messages)
    expect(await promptText({ ...row, system: '' }, { systemPrompt: 'Talk.', chatTemplate: 'auto' })).toEqual([
      { role: 'system', content: 'Talk.' },
      messages[1],
    ])
    expect(await promptText({ prompt: messages, system: 'Talk.' })).toEqual(messages)
    expect(await promptText(row, { promptTemplate: '{system} {prompt}' })).toBe('Be brief. Hi')
    expect(await promptText({ ...row, system: 'x', rules: 'Be brief.' }, { columns: { system: 'rules' } })).toEqual(
      messages,
    )
  })

  it('that is no text is only a column, unless the config names it', async () => {
    expect(await promptText({ prompt: 'Hi', system: 3 })).toBe('Hi')
    await expect(promptText({ prompt: 'Hi', system: 3 }, { columns: { system: 'system' } })).rejects.toThrow(
      'system: expected a text, got the number 3',
    )
  })
})

describe('columns that several names fit', () => {
  it.each([
    [{ question: 'a', query: 'b', answer: 'c' }, 'question, query: each can be the prompt', 'prompt: question'],
    [
      { question: 'a', answer: 'b', response: 'c' },
      'response, answer: each can be the completion',
      'completion: response',
    ],
    [{ input: 'a', problem: 'b', output: 'c' }, 'problem, input: each can be the prompt', 'prompt: problem'],
  ])('%j is an error that says which option decides', async (row, problem, option) => {
    await expect(examplesOf('conversations', [row])).rejects.toThrow(
      `${problem}; set columns to choose one, such as columns: {${option}}`,
    )
  })

  it('are decided by the option', async () => {
    const row = { question: 'Hi', query: 'b', answer: 'Yo', response: 'c' }
    const columns = { prompt: 'question', completion: 'answer' }
    const [example] = await examplesOf('conversations', [row], { columns })
    expect(await decode(example!.sequence)).toMatch(/Hi.*Yo/s)
  })

  it('of a target are an error too, and one that cannot be a target does not count', async () => {
    await expect(examplesOf('prompts', [{ problem: 'a', answer: '1', solution: 'So 1.' }])).rejects.toThrow(
      'answer, solution: each can be the target; set columns to choose one, such as columns: {target: answer}',
    )
    const [example] = await examplesOf('prompts', [{ problem: 'a', answer: { text: '1' }, solution: 'So 1.' }])
    expect(example!.target).toBe('So 1.')
  })
})

describe('prompts for RL', () => {
  it('of GSM8K have the question, and the whole answer as target', async () => {
    const row = { question: '2 + 2?', answer: 'Two and two.\n#### 4' }
    const [example] = await examplesOf('prompts', [row], { chatTemplate: 'none' })
    expect(example).toMatchObject({ prompt: '2 + 2?', target: row.answer, row })
  })

  it('of a conversation with its problem beside it have the problem', async () => {
    const messages = [{ role: 'user', content: 'long' }]
    expect(await promptText({ messages, problem: '2 + 2?', solution: '4' })).toBe('2 + 2?')
  })
})

describe('what a prompt is about', () => {
  it.each([
    [{ instruction: 'Add.', input: '2 2' }, 'Add.\n\n2 2'],
    [{ instruction: 'Add.', input: '' }, 'Add.'],
    [{ instruction: 'Who?', context: 'Ann.' }, 'Who?\n\nAnn.'],
    [{ question: 'Who?', context: 'Ann.' }, 'Who?\n\nAnn.'],
    [{ prompt: 'Who?', context: 'Ann.' }, 'Who?'],
    [{ question: 'Who?', context: ['a list'] }, 'Who?'],
  ])('of %j follows it', async (row, text) => {
    expect(await promptText(row)).toBe(text)
    const [example] = await examplesOf('conversations', [{ ...row, output: 'x' }])
    expect(await decode(example!.sequence)).toContain(`user\n${text}<|im_end|>`)
  })

  it('goes where a template wants it, and is left out where the config names the prompt', async () => {
    const row = { question: 'Who?', context: 'Ann.' }
    expect(await promptText(row, { promptTemplate: '{context} {prompt}' })).toBe('Ann. Who?')
    expect(await promptText(row, { columns: { prompt: 'question' } })).toBe('Who?')
  })
})

it('bytes are no text', async () => {
  await expect(examplesOf('conversations', [{ prompt: { base64: '/9gA' }, completion: 'a' }])).rejects.toThrow(
    /prompt: expected/,
  )
})
