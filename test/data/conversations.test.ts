import { describe, expect, it } from 'vitest'
import { dataFolder, epochOf, plainTokenizer, tokenizer } from '../support/data.js'
import { chat, decode, exampleReader, trained } from '../support/examples.js'

const files = dataFolder()
const { jsonl, open } = files
const examplesOf = exampleReader(files)

describe('conversations', () => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Yo' },
  ]
  const shareGpt = [
    { from: 'human', value: 'Hi' },
    { from: 'gpt', value: 'Yo' },
  ]
  it.each<[string, unknown, string]>([
    ["OpenAI's messages", { messages }, `${chat}\n`],
    ["ShareGPT's conversations", { conversations: shareGpt }, `${chat}\n`],
    ["OpenAI's spelling in conversations", { conversations: messages }, `${chat}\n`],
    ['prompt and completion', { prompt: 'Hi', completion: 'Yo' }, chat],
    ['prompt and response', { prompt: 'Hi', response: 'Yo' }, chat],
    ['messages and a completion', { prompt: [messages[0]], completion: [messages[1]] }, chat],
    ['input and output', { input: 'Hi', output: 'Yo' }, chat],
    ['instruction and output', { instruction: 'Hi', input: '', output: 'Yo' }, chat],
    ['question and answer', { question: 'Hi', answer: 'Yo' }, chat],
    ['query and response', { query: 'Hi', response: 'Yo' }, chat],
    ['problem and solution', { problem: 'Hi', solution: 'Yo' }, chat],
    ['input and target', { input: 'Hi', target: 'Yo' }, chat],
    ['inputs and targets', { inputs: 'Hi', targets: 'Yo' }, chat],
    ['our name among others', { prompt: 'Hi', question: 'other', completion: 'Yo', answer: 'other' }, chat],
  ])('are %s: only what the assistant says is trained, with the end of its turn', async (_, row, text) => {
    const [example] = await examplesOf('conversations', [row])
    expect(await decode(example!.sequence)).toBe(text)
    expect(await trained(example!)).toBe('Yo<|im_end|>')
    expect(example!.sequence.trained).toHaveLength(example!.sequence.ids.length)
  })

  it('of several turns train every answer of messages, and the completion alone where there is one', async () => {
    const turns = [...messages, { role: 'user', content: 'And?' }, { role: 'assistant', content: 'So' }]
    const [whole, last] = await examplesOf('conversations', [
      { messages: turns },
      { prompt: turns.slice(0, 3), completion: 'So' },
    ])
    expect(await trained(whole!)).toBe('Yo<|im_end|>|So<|im_end|>')
    expect(await trained(last!)).toBe('So<|im_end|>')
  })

  it('keep what an instruction is about', async () => {
    const [example] = await examplesOf('conversations', [{ instruction: 'Add', input: '1 2', output: '3' }])
    expect(await decode(example!.sequence)).toContain('user\nAdd\n\n1 2<|im_end|>')
  })

  it('of plain text are trained whole but for the first token, which nothing predicts', async () => {
    const [example] = await examplesOf('conversations', [{ text: 'some plain text' }])
    expect(await decode(example!.sequence)).toBe('some plain text<|im_end|>')
    expect([...example!.sequence.trained]).toEqual([0, ...new Array(example!.sequence.ids.length - 1).fill(1)])
    const [all] = await examplesOf('conversations', [{ messages }], { trainOn: 'all' })
    expect([...all!.sequence.trained]).toEqual([0, ...new Array(all!.sequence.ids.length - 1).fill(1)])
  })

  it('take a system prompt where they have none, a template for prompts, and columns by other names', async () => {
    const options = { systemPrompt: 'Be brief.', promptTemplate: 'Q {topic.name}: {prompt} {{x}}' }
    const [first, second] = await examplesOf(
      'conversations',
      [
        { q: 'Hi', a: { text: 'Yo' }, topic: { name: 'maths' }, messages: 'not these' },
        { q: [{ role: 'system', content: 'Own.' }, messages[0]], a: { text: 'Yo' }, topic: { name: 'x' } },
      ],
      { ...options, columns: { prompt: 'q', completion: 'a.text' } },
    )
    expect(await decode(first!.sequence)).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nQ maths: Hi {x}<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>',
    )
    expect(await decode(second!.sequence)).toMatch(
      /^<\|im_start\|>system\nOwn\.<\|im_end\|>\n<\|im_start\|>user\nQ x: Hi \{x\}</,
    )
    const missing = examplesOf('conversations', [{ prompt: 'Hi', completion: 'Yo' }], {
      promptTemplate: '{prompt}{nix}',
    })
    await expect(missing).rejects.toThrow(/nix: missing, and promptTemplate uses it/)
  })

  it('that are too long are cut at their end or dropped, counted and told', async () => {
    const rows = [
      { prompt: 'Hi', completion: 'word '.repeat(100) },
      { prompt: 'Hi', completion: 'Yo' },
    ]
    const path = jsonl('long.jsonl', rows)
    const cut = (await open('conversations', path, { maxLength: 20 })).train(tokenizer)
    const examples = await epochOf(cut)
    expect(examples.map(({ sequence }) => sequence.ids.length).sort()).toEqual([16, 20])
    expect(examples.map(({ truncated }) => truncated).sort()).toEqual([false, true])
    expect(cut.counts).toEqual({ truncated: 1, dropped: {} })
    const skipped: string[] = []
    const onSkipped = ({ where, reason, message }: { where: string; reason: string; message: string }) =>
      void skipped.push(`${where} ${reason}: ${message}`)
    const dropping = await open('conversations', path, { maxLength: 20, overlong: 'drop', onSkipped })
    const stream = dropping.train(tokenizer)
    expect(await epochOf(stream)).toHaveLength(1)
    expect(await epochOf(stream)).toHaveLength(1)
    expect(stream.counts).toMatchObject({ truncated: 0, dropped: { overlong: 2 } })
    expect(skipped).toEqual([expect.stringMatching(/^long\.jsonl:1 overlong: \d+ tokens, more than maxLength \(20\)$/)])
    const none = (await open('conversations', path, { maxLength: 4 })).train(tokenizer)
    await expect(none.take(1)).rejects.toThrow(
      /data: every example is skipped \(overlong 2; the first: \d+ tokens, .*\d+.*\); raise maxLength/,
    )
  })

  it.each<[string, unknown, string]>([
    ['no messages', { messages: [] }, 'messages: expected a list of messages with a role and a content'],
    ['a text for messages', { messages: 'Hi' }, 'messages: expected a list, got "Hi"'],
    ['a message that is none', { messages: ['Hi'] }, 'messages.0: expected a message with a role and a content'],
    [
      'a misspelt role',
      { messages: [{ role: 'asistant', content: 'x' }] },
      'messages.0.role: "asistant" is not a role; did you mean assistant?',
    ],
    [
      'a number for a content',
      { messages: [...messages, { role: 'user', content: 3 }] },
      'messages.2.content: expected a text, or a list of parts with a type',
    ],
    ['no content', { messages: [{ role: 'user' }] }, 'messages.0.content: expected a content'],
    [
      'a value that is no text',
      { conversations: [{ from: 'human', value: null }] },
      'conversations.0.value: expected a text',
    ],
    [
      'nothing the assistant says',
      { messages: [messages[0]] },
      'messages: no message of the assistant, so there is no trained token',
    ],
    [
      'an empty answer',
      { messages: [messages[0], { role: 'assistant', content: ' ' }] },
      'messages: the messages of the assistant are empty; add text, or remove the row',
    ],
    ['an empty prompt', { prompt: ' ', completion: 'Yo' }, 'prompt: empty; add text, or remove the row'],
    ['an empty completion', { prompt: 'Hi', completion: '' }, 'completion: empty; add text, or remove the row'],
    [
      'a number for a completion',
      { prompt: 'Hi', completion: 4 },
      'completion: expected a list of messages with a role and a content',
    ],
    [
      'the columns of another kind',
      { chosen: 'a', rejected: 'b' },
      'no conversations: expected messages, conversations, a prompt and its completion (also question and answer, instruction and output), or text; the row has chosen, rejected: set columns to name them',
    ],
  ])('with %s are refused', async (_, row, message) => {
    await expect(examplesOf('conversations', [row])).rejects.toThrow(`.jsonl:1: ${message}`)
  })

  it('with a column that is named and not there are refused', async () => {
    const columns = { prompt: 'question', completion: 'answer' }
    await expect(examplesOf('conversations', [{ prompt: 'Hi', answer: 'Yo' }], { columns })).rejects.toThrow(
      ':1: question: missing; the row has prompt, answer',
    )
  })

  it('that the chat template cannot render are bad rows, found when they are encoded', async () => {
    const [sound, image] = ['audio', 'image'].map(type => [{ role: 'user', content: [{ type }] }, messages[1]])
    const missing = (await open('conversations', jsonl('image.jsonl', [{ messages: image }]))).train(tokenizer)
    await expect(epochOf(missing)).rejects.toThrow(/image\.jsonl:1: .*messages have places for 1, and there are 0/)
    const path = jsonl('sound.jsonl', [{ messages }, { messages: sound }])
    const strict = (await open('conversations', path, { shuffle: false })).train(tokenizer)
    const bad = /sound\.jsonl: a bad row\n {2}sound\.jsonl:2: .*part of type "audio"/
    await expect(epochOf(strict)).rejects.toThrow(bad)
    // No later try goes on without the row.
    await expect(epochOf(strict)).rejects.toThrow(bad)
    const lenient = (await open('conversations', path, { maxBadRows: 1 })).train(tokenizer)
    for (let epoch = 0; epoch < 3; epoch++) expect(await epochOf(lenient)).toHaveLength(1)
    expect(lenient.counts.dropped).toEqual({ template: 3 })
  })

  it('in messages need a chat template; texts do not', async () => {
    const path = jsonl('messages.jsonl', [{ messages }])
    const dataset = await open('conversations', path)
    expect(() => dataset.train(plainTokenizer)).toThrow(
      /no chat template, and the data has messages or system messages; set one \(chatTemplate: chatml/,
    )
    const texts = await open('conversations', jsonl('texts.jsonl', [{ prompt: 'ab', completion: 'ba' }]))
    const [example] = await texts.train(plainTokenizer).take(1)
    expect(example!.sequence.ids.length).toBeGreaterThan(2)
    expect(example!.sequence.trained[0]).toBe(0)
  })
})
