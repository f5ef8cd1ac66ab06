import { describe, expect, it } from 'vitest'
import { dataFolder } from '../support/data.js'
import { decode, exampleReader } from '../support/examples.js'

const files = dataFolder()
const examplesOf = exampleReader(files)

const promptText = async (row: object, options = {}): Promise<unknown> =>
  (await examplesOf('prompts', [row], { chatTemplate: 'none', ...options }))[0]!.prompt

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
