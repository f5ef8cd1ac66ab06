import { describe, expect, it } from 'vitest'
import type { Examples } from '../../src/data/index.js'
import { dataFolder, epochOf, tokenizer } from '../support/data.js'
import { answerOf, chat, decode, exampleReader, promptOf } from '../support/examples.js'

const files = dataFolder()
const { jsonl, open } = files
const examplesOf = exampleReader(files)

describe('preferences', () => {
  const user = { role: 'user', content: 'Hi' }
  const says = (content: string) => ({ role: 'assistant', content })
  const bad = chat.replace('Yo', 'No')
  it.each<[string, unknown]>([
    ['texts', { prompt: 'Hi', chosen: 'Yo', rejected: 'No' }],
    ['messages', { prompt: [user], chosen: [says('Yo')], rejected: [says('No')] }],
    ['a message each', { prompt: 'Hi', chosen: says('Yo'), rejected: says('No') }],
    ['whole conversations', { prompt: 'Hi', chosen: [user, says('Yo')], rejected: [user, says('No')] }],
    ['transcripts', { chosen: '\n\nHuman: Hi\n\nAssistant: Yo', rejected: '\n\nHuman: Hi\n\nAssistant: No' }],
    ['responses with scores', { prompt: 'Hi', responses: ['No', 'Yo'], scores: [0.1, 0.9] }],
    ['responses with ranks', { prompt: 'Hi', responses: ['No', 'Yo'], rankings: [2, 1] }],
  ])('are %s', async (_, row) => {
    const examples = await examplesOf('preferences', [row])
    expect(examples).toHaveLength(1)
    const [{ chosen, rejected }] = examples as [Examples['preferences']]
    expect(await decode(chosen)).toBe(chat)
    expect(await decode(rejected)).toBe(bad)
    expect(await answerOf(chosen)).toBe('Yo<|im_end|>')
    expect(promptOf(chosen)).toEqual(promptOf(rejected))
  })

  it('for a reward model have answers with all that the template writes after them, within maxLength', async () => {
    const path = jsonl('reward.jsonl', [{ prompt: 'Hi', chosen: 'Yo', rejected: 'No' }])
    const read = async (options: object) => epochOf((await open('preferences', path, options)).train(tokenizer))
    const [{ chosen }] = (await read({ answerEnd: 'template' })) as [Examples['preferences']]
    expect(await answerOf(chosen)).toBe('Yo<|im_end|>\n')
    expect(chosen.ids).toEqual(await tokenizer.encodeChat([user, says('Yo')]))
    expect(await read({ answerEnd: 'turn', maxLength: chosen.ids.length - 1 })).toHaveLength(1)
    await expect(read({ answerEnd: 'template', maxLength: chosen.ids.length - 1 })).rejects.toThrow('overlong')
  })

  it('of several answers are every pair of which one is better', async () => {
    const row = { prompt: 'Hi', responses: ['a', 'b', 'c', 'd'], scores: [1, 3, 2, 2] }
    const examples = await examplesOf('preferences', [row, { prompt: 'Hi', chosen: 'x', rejected: 'y', margin: 2 }])
    const pairs = await Promise.all(
      examples.map(async ({ chosen, rejected }) => [
        (await answerOf(chosen)).replace('<|im_end|>', ''),
        (await answerOf(rejected)).replace('<|im_end|>', ''),
      ]),
    )
    expect(pairs).toEqual([
      ['b', 'a'],
      ['c', 'a'],
      ['d', 'a'],
      ['b', 'c'],
      ['b', 'd'],
      ['x', 'y'],
    ])
    expect(examples.at(-1)!.margin).toBe(2)
    expect(new Set(examples.map(({ chosen }) => chosen.promptId)).size).toBe(6)
  })

  it('in transcripts of several turns part where they differ', async () => {
    const start = '\n\nHuman: Hi\n\nAssistant: Yo\n\nHuman: And?\n\nAssistant:'
    const [example] = await examplesOf('preferences', [{ chosen: `${start} Good`, rejected: `${start} Bad` }])
    expect(await answerOf(example!.chosen)).toBe('Good<|im_end|>')
    const [early] = await examplesOf('preferences', [
      { chosen: `${start} Good`, rejected: '\n\nHuman: Hi\n\nAssistant: Go away' },
    ])
    expect(await answerOf(early!.rejected)).toBe('Go away<|im_end|>')
  })

  it('that are too long are dropped, or lose the beginning of their prompt', async () => {
    const row = { prompt: 'word '.repeat(50), chosen: 'Yo', rejected: 'No' }
    const path = jsonl('long-pair.jsonl', [row, { prompt: 'Hi', chosen: 'Yo', rejected: 'No' }])
    const dropped = (await open('preferences', path, { maxLength: 20 })).train(tokenizer)
    expect(await epochOf(dropped)).toHaveLength(1)
    expect(dropped.counts.dropped).toEqual({ overlong: 1 })
    const cut = (await open('preferences', path, { maxLength: 20, overlong: 'truncate', shuffle: false })).train(
      tokenizer,
    )
    const [example] = await epochOf(cut)
    expect(example!.chosen.ids).toHaveLength(20)
    expect(await answerOf(example!.chosen)).toBe('Yo<|im_end|>')
    expect(await decode(example!.chosen)).toMatch(/word <\|im_end\|>\n<\|im_start\|>assistant\nYo/)
  })

  it.each([
    ['What is 2 + 2? four', 'What is 2 + 2? five', 'What is 2 + 2?', ' four', ' five'],
    ['Add: 2 2\nfour', 'Add: 2 2\nfive', 'Add: 2 2\n', 'four', 'five'],
    ['Say it twice', 'Say it twice twice', 'Say it', ' twice', ' twice twice'],
  ])('without a prompt (%j and %j) have the words that both begin with', async (chosen, rejected, ...parts) => {
    const row = { chosen, rejected, score_chosen: 8, source: 'web' }
    const [example] = await examplesOf('preferences', [row], { chatTemplate: 'none' })
    const pair = [example!.chosen, example!.rejected]
    const prompt = await tokenizer.decode(promptOf(pair[0]!))
    const answers = (await Promise.all(pair.map(answerOf))).map(text => text.replace('<|im_end|>', ''))
    expect([prompt, ...answers]).toEqual(parts)
    const named = { request: 'A text beside it', ...row }
    const columns = { chosen: 'chosen', rejected: 'rejected' }
    expect(await examplesOf('preferences', [named], { chatTemplate: 'none', columns })).toHaveLength(1)
  })

  it('with two answers that are the same are left out, and are no mistake', async () => {
    const path = jsonl('same.jsonl', [
      { prompt: 'Hi', chosen: 'Yo', rejected: 'Yo' },
      { prompt: 'Hi', chosen: 'Yo', rejected: 'No' },
    ])
    const { report } = await open('preferences', path)
    expect(report).toMatchObject({ rows: 1, skipped: { 'same-answers': 1 } })
  })

  it.each<[string, unknown, string]>([
    [
      'no prompt',
      { chosen: 'a', rejected: 'b' },
      'prompt: missing, and chosen and rejected do not begin with the same words; set columns to name it',
    ],
    [
      'another text that may be the prompt',
      { request: 'What is two and two?', chosen: 'It is four.', rejected: 'It is five.' },
      'prompt: missing, and request may be it; set columns to name it, such as columns: {prompt: question}',
    ],
    [
      'a text and a list',
      { prompt: 'p', chosen: 'a', rejected: [says('b')] },
      'chosen and rejected: expected two texts, or two lists',
    ],
    [
      'no prompt in common',
      { chosen: [user, says('a')], rejected: [{ ...user, content: 'Ho' }, says('b')] },
      'chosen and rejected: expected both to start with the same prompt',
    ],
    [
      'too few scores',
      { prompt: 'p', responses: ['a', 'b'], scores: [1] },
      'scores: 1 entries for 2 responses; give one for each',
    ],
    [
      'a score that is none',
      { prompt: 'p', responses: ['a', 'b'], scores: [1, 'x'] },
      'scores.1: expected a number, got "x"',
    ],
    ['no scores', { prompt: 'p', responses: ['a', 'b'] }, 'rankings: missing; the row has prompt, responses'],
    [
      'a margin that is none',
      { prompt: 'p', chosen: 'a', rejected: 'b', margin: 'x' },
      'margin: expected a number, got "x"',
    ],
    [
      'an empty answer',
      { chosen: '\n\nHuman: Hi\n\nAssistant:', rejected: '\n\nHuman: Hi\n\nAssistant: No' },
      'chosen: the answer is empty',
    ],
    ['the columns of another kind', { text: 'x' }, 'no preferences: expected prompt, chosen and rejected'],
  ])('with %s are refused', async (_, row, message) => {
    await expect(examplesOf('preferences', [row])).rejects.toThrow(`.jsonl:1: ${message}`)
  })
})

describe('labelled answers', () => {
  it('are answers with a label, conversations with one, or both sides of a preference', async () => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yo' },
    ]
    const examples = await examplesOf('labelled', [
      { prompt: 'Hi', completion: 'Yo', label: true },
      { prompt: 'Hi', completion: 'No', desirable: false },
      { messages, desirable: true },
      { prompt: 'Hi', chosen: 'Yo', rejected: 'No' },
    ])
    expect(await Promise.all(examples.map(({ sequence }) => decode(sequence)))).toEqual(
      ['Yo', 'No', 'Yo', 'Yo', 'No'].map(answer => chat.replace('Yo', answer)),
    )
    expect(examples.map(({ desirable }) => desirable)).toEqual([true, false, true, true, false])
    for (const { sequence } of examples) expect(await answerOf(sequence)).toMatch(/^(Yo|No)<\|im_end\|>$/)
  })

  it.each<[string, unknown, string]>([
    [
      'a label that is none',
      { prompt: 'a', completion: 'b', label: 'yes' },
      'label: expected true or false, got "yes"',
    ],
    ['no label', { prompt: 'a', completion: 'b' }, 'no labelled answers: expected prompt, completion and desirable'],
    [
      'no answer',
      { messages: [{ role: 'assistant', content: 'x' }], desirable: true },
      "messages: expected a prompt, and the assistant's answer",
    ],
  ])('with %s are refused', async (_, row, message) => {
    await expect(examplesOf('labelled', [row])).rejects.toThrow(`.jsonl:1: ${message}`)
  })
})
