import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parquetWriteFile } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'
import type { ExampleKind, Examples, OpenDatasetOptions } from '../../src/data/index.js'
import { firstTrained, type Sequence } from '../../src/sequence/index.js'
import { dataFolder, epochOf, plainTokenizer, tokenizer } from '../support/data.js'

const { folder, jsonl, open, write } = dataFolder()
const decode = ({ ids }: Sequence) => tokenizer.decode(ids)
const promptOf = (sequence: Sequence) => sequence.ids.subarray(0, firstTrained(sequence))
const answerOf = (sequence: Sequence) => tokenizer.decode(sequence.ids.subarray(firstTrained(sequence)))

let count = 0
/** The examples of rows, in their order. */
async function examplesOf<K extends ExampleKind>(
  kind: K,
  rows: readonly unknown[],
  { columns, ...options }: Partial<OpenDatasetOptions> & { columns?: Record<string, string> } = {},
): Promise<Examples[K][]> {
  const path = jsonl(`${count++}.jsonl`, rows)
  const dataset = await open(kind, columns ? { path, columns } : path, { shuffle: false, ...options })
  return epochOf(dataset.train(tokenizer))
}

/** What is trained of a conversation, with `|` between what is not next to each other. */
async function trained({ sequence: { ids, trained } }: Examples['conversations']): Promise<string> {
  const runs: number[][] = []
  for (const [i, id] of ids.entries()) {
    if (trained[i] === 0) continue
    if (trained[i - 1] === 1) runs.at(-1)!.push(id)
    else runs.push([id])
  }
  return (await Promise.all(runs.map(run => tokenizer.decode(run)))).join('|')
}

const chat = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>'

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
      'no conversations: expected messages, conversations, prompt and completion, input and output, or text; the row has chosen, rejected: set columns to name them',
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
    const image = [{ role: 'user', content: [{ type: 'image' }] }, messages[1]]
    const path = jsonl('image.jsonl', [{ messages }, { messages: image }])
    const strict = (await open('conversations', path, { shuffle: false })).train(tokenizer)
    await expect(epochOf(strict)).rejects.toThrow(/image\.jsonl: a bad row\n {2}image\.jsonl:2: .*part of type "image"/)
    const lenient = (await open('conversations', path, { maxBadRows: 1 })).train(tokenizer)
    for (let epoch = 0; epoch < 3; epoch++) expect(await epochOf(lenient)).toHaveLength(1)
    expect(lenient.counts.dropped).toEqual({ template: 3 })
  })

  it('in messages need a chat template; texts do not', async () => {
    const path = jsonl('messages.jsonl', [{ messages }])
    const dataset = await open('conversations', path)
    expect(() => dataset.train(plainTokenizer)).toThrow(
      /no chat template, and the data has messages; set one \(chatTemplate: chatml/,
    )
    const texts = await open('conversations', jsonl('texts.jsonl', [{ prompt: 'ab', completion: 'ba' }]))
    const [example] = await texts.train(plainTokenizer).take(1)
    expect(example!.sequence.ids.length).toBeGreaterThan(2)
    expect(example!.sequence.trained[0]).toBe(0)
  })
})

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

  it('with two answers that are the same are left out, and are no mistake', async () => {
    const path = jsonl('same.jsonl', [
      { prompt: 'Hi', chosen: 'Yo', rejected: 'Yo' },
      { prompt: 'Hi', chosen: 'Yo', rejected: 'No' },
    ])
    const { report } = await open('preferences', path)
    expect(report).toMatchObject({ rows: 1, skipped: { 'same-answers': 1 } })
  })

  it.each<[string, unknown, string]>([
    ['no prompt', { chosen: 'a', rejected: 'b' }, 'prompt: missing, and chosen is not a transcript'],
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

describe('prompts', () => {
  it('are objects or bare lines, user turns where there is a template, with every column for the rewards', async () => {
    const rows = [
      { prompt: 'Hi', reference: 4, level: 2 },
      'bare',
      { messages: [{ role: 'user', content: 'x' }], label: 'l' },
    ]
    const examples = await examplesOf('prompts', rows, { systemPrompt: 'S' })
    const system = { role: 'system', content: 'S' }
    const turn = (content: string) => [system, { role: 'user', content }]
    expect(examples).toMatchObject(
      [
        { prompt: turn('Hi'), target: '4', row: { prompt: 'Hi', reference: 4, level: 2 }, where: '0.jsonl:1' },
        { prompt: turn('bare'), row: { prompt: 'bare' } },
        { prompt: turn('x'), label: 'l' },
      ].map(one => ({ ...one, where: expect.any(String), promptId: expect.stringMatching(/^[0-9a-f]{16}$/) })),
    )
  })

  it('are the lines of a text file; they stay texts where no template is wanted', async () => {
    const path = write('lines.txt', '\uFEFFone\r\n\r\ntwo {"x"}\n')
    const dataset = await open('prompts', path, { chatTemplate: 'none', shuffle: false, promptTemplate: '{prompt}!' })
    expect(await epochOf(dataset.train(tokenizer))).toMatchObject([
      { prompt: 'one!', where: 'lines.txt:1' },
      { prompt: 'two {"x"}!', where: 'lines.txt:3' },
    ])
    expect(await (await open('prompts', path)).train(plainTokenizer).take(1)).toMatchObject([
      { prompt: expect.any(String) },
    ])
  })

  it('that are too long are dropped where a length is given', async () => {
    const stream = (
      await open('prompts', jsonl('long-prompt.jsonl', ['word '.repeat(50), 'Hi']), { maxLength: 20 })
    ).train(tokenizer)
    expect(await epochOf(stream)).toHaveLength(1)
    expect(stream.counts.dropped).toEqual({ overlong: 1 })
  })
})

describe('the same rows', () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    prompt: `What is "${i}", + 1?\nSay, é 🙂`,
    completion: i % 3 === 0 ? `It is\r\n${i + 1}` : `${i + 1}`,
  }))
  const csvCell = (text: string) => `"${text.replaceAll('"', '""')}"`

  it('in JSONL, JSON, CSV, TSV and Parquet are the same examples in the same order', async () => {
    jsonl('same-rows.jsonl', rows)
    write('same-rows.json', JSON.stringify(rows, null, 2))
    for (const [name, separator] of [
      ['csv', ','],
      ['tsv', '\t'],
    ] as const)
      write(
        `same-rows.${name}`,
        [['prompt', 'completion'], ...rows.map(Object.values)]
          .map(cells => cells.map(cell => csvCell(cell as string)).join(separator))
          .join('\r\n'),
      )
    for (const [name, codec] of [
      ['snappy', 'SNAPPY'],
      ['plain', 'UNCOMPRESSED'],
      ['gzip', 'GZIP'],
    ] as const)
      parquetWriteFile({
        filename: join(folder, `same-rows-${name}.parquet`),
        compressors: { GZIP: bytes => gzipSync(bytes) },
        columnData: (['prompt', 'completion'] as const).map(column => ({
          name: column,
          data: rows.map(row => row[column]),
          type: 'STRING',
        })),
        codec,
        rowGroupSize: 7,
      })
    const all = []
    for (const name of ['.jsonl', '.json', '.csv', '.tsv', '-snappy.parquet', '-plain.parquet', '-gzip.parquet']) {
      const dataset = await open('conversations', `same-rows${name}`, { validationShare: 0.2 })
      const examples = await epochOf(dataset.train(tokenizer))
      all.push(examples.map(({ where: _, ...example }) => example))
      expect(dataset.report).toMatchObject({ rows: 40, formats: { 'prompt, completion': 40 } })
    }
    for (const examples of all) expect(examples).toEqual(all[0])
  })

  it('with lists, numbers and booleans in them are the same from cells and from columns', async () => {
    const conversations = [
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
        desirable: true,
      },
      {
        messages: [
          { role: 'user', content: 'c' },
          { role: 'assistant', content: 'd' },
        ],
        desirable: false,
      },
    ]
    jsonl('typed.jsonl', conversations)
    const cells = conversations.map(({ messages, desirable }) => `${csvCell(JSON.stringify(messages))},${desirable}`)
    write('typed.csv', ['messages,desirable', ...cells].join('\n'))
    parquetWriteFile({
      filename: join(folder, 'typed.parquet'),
      columnData: [
        { name: 'messages', data: conversations.map(({ messages }) => messages), type: 'JSON' },
        { name: 'desirable', data: conversations.map(({ desirable }) => desirable), type: 'BOOLEAN' },
      ],
    })
    // As other programs write it: a list of records, not a text.
    const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const
    parquetWriteFile({
      filename: join(folder, 'nested.parquet'),
      columnData: [
        { name: 'messages', data: conversations.map(({ messages }) => messages) },
        { name: 'desirable', data: conversations.map(({ desirable }) => desirable) },
      ],
      schema: [
        { name: 'root', num_children: 2 },
        { name: 'messages', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 },
        { name: 'role', ...text },
        { name: 'content', ...text },
        { name: 'desirable', type: 'BOOLEAN', repetition_type: 'OPTIONAL' },
      ],
    })
    const all = []
    for (const name of ['typed.jsonl', 'typed.csv', 'typed.parquet', 'nested.parquet']) {
      const stream = (await open('labelled', name, { shuffle: false })).train(tokenizer)
      all.push(
        (await epochOf(stream)).map(({ sequence: { ids, trained }, desirable }) => ({ ids, trained, desirable })),
      )
    }
    for (const examples of all) expect(examples).toEqual(all[0])
  })
})
