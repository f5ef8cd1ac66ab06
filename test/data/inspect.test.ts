import { afterEach, describe, expect, it, vi } from 'vitest'
import { describe as describeInspection, markerFor } from '../../src/cli/data.js'
import { main } from '../../src/cli/main.js'
import { dataOptionsSchema, type InspectOptions, inspectData } from '../../src/data/index.js'
import { summarizeLengths } from '../../src/data/lengths.js'
import { dataFolder, tokenizer } from '../support/data.js'

const { folder, jsonl, write } = dataFolder()
const inspect = (path: string, options: Partial<InspectOptions> = {}, columns: Record<string, string> = {}) =>
  inspectData({ path, columns }, { ...dataOptionsSchema.parse({}), baseDirectory: folder, rendered: 3, ...options })

afterEach(() => vi.restoreAllMocks())

describe('inspecting a file', () => {
  it.each([
    [
      'conversations',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
      },
    ],
    ['conversations', { input: 'a', output: 'b' }],
    ['conversations', { text: 'a' }],
    ['preferences', { prompt: 'a', chosen: 'b', rejected: 'c' }],
    ['labelled', { prompt: 'a', completion: 'b', label: true }],
    ['prompts', { prompt: 'a', label: 'maths', reference: '1' }],
    ['prompts', { messages: [{ role: 'user', content: 'a' }] }],
    ['prompts', 'a bare line'],
  ])('finds that rows are %s', async (kind, row) => {
    expect(await inspect(jsonl('kind.jsonl', [row]))).toMatchObject({ kind, rows: 1 })
  })

  it('shows rows, bad rows, lengths and what is trained, in tokens where there is a tokenizer', async () => {
    const path = jsonl('all.jsonl', [
      { q: 'What\u001b[2J?', a: 'Yes.' },
      { q: 'Again', a: '' },
      ...Array.from({ length: 5 }, () => ({ q: 'What?', a: 'x'.repeat(100) })),
    ])
    const columns = { prompt: 'q', completion: 'a' }
    const inCharacters = await inspect(path, {}, columns)
    expect(inCharacters).toMatchObject({ rows: 6, repeated: 4, skipped: { empty: 1 }, unit: 'characters' })
    const text = describeInspection(inCharacters, markerFor({}))
    expect(text).toContain('all.jsonl: 6 rows')
    expect(text).toContain('formats   q, a (6)')
    expect(text).toContain('  all.jsonl:2: a: empty; add text, or remove the row')
    expect(text).toContain('user: What\\x1b[2J?\n[Yes.]')
    expect(text).not.toContain('\u001b')
    const inTokens = await inspect(path, { tokenizer, maxLength: 40 }, columns)
    expect(inTokens).toMatchObject({ unit: 'tokens', lengths: { count: 6, max: 40 } })
    expect(describeInspection(inTokens, markerFor({}))).toContain('<|im_start|>assistant\n[Yes.<|im_end|>]')
    expect(describeInspection(inTokens, markerFor({ isTTY: true }, {}))).toContain('\x1b[32mYes.<|im_end|>\x1b[0m')
    expect(markerFor({ isTTY: true }, { NO_COLOR: '1' })({ text: 'x', trained: true })).toBe('[x]')
  })

  it('shows pairs, labels and prompts', async () => {
    const shown = async (row: unknown) => {
      const path = jsonl('one.jsonl', [row])
      return [{}, { tokenizer }].map(async options => describeInspection(await inspect(path, options), markerFor({})))
    }
    for (const text of await shown({ prompt: 'a', chosen: 'b', rejected: 'c' })) {
      expect(await text).toMatch(/prompt:\n.*a/s)
      expect(await text).toMatch(/chosen:\n\[b/)
      expect(await text).toMatch(/rejected:\n\[c/)
    }
    for (const text of await shown({ prompt: 'a', completion: 'b', label: false }))
      expect(await text).toMatch(/undesirable:\n\[b/)
    for (const text of await shown({ prompt: 'a', reference: ['4', 'four'] }))
      expect(await text).toMatch(/target:\n4 \| four/)
  })

  it('says what each column is used as, and what else the rows could be', async () => {
    const path = jsonl('gsm8k.jsonl', [{ question: '2 + 2?', answer: 'So\n#### 4', level: 1 }])
    const text = describeInspection(await inspect(path), markerFor({}))
    expect(text).toContain('kind      conversations (also possible: prompts; --kind)')
    expect(text).toContain('  question: string -> prompt\n  answer: string -> completion\n  level: number\n')
    const prompts = await inspect(path, { kind: 'prompts' })
    expect(describeInspection(prompts, markerFor({}))).toContain('  answer: string -> target\n')
    const alone = await inspect(jsonl('alone.jsonl', [{ question: '2 + 2?' }]), { kind: 'prompts' })
    expect(prompts.lengths).toEqual(alone.lengths)
    const nested = jsonl('verl.jsonl', [{ prompt: 'a', reward_model: { ground_truth: '4' } }])
    expect(describeInspection(await inspect(nested), markerFor({}))).toContain(
      'reward_model.ground_truth: field -> target',
    )
  })

  it('finds what only a tokenizer can', async () => {
    const path = jsonl('template.jsonl', [
      { messages: [{ role: 'assistant', content: [{ type: 'audio' }] }] },
      { text: 'b' },
    ])
    const inspection = await inspect(path, { tokenizer, kind: 'conversations' })
    expect(inspection.skipped).toEqual({ template: 1 })
    expect(inspection.skippedRows[0]!.message).toMatch(/part of type "audio"/)
  })

  it('says so where rows are of no kind', async () => {
    await expect(inspect(jsonl('none.jsonl', [{ q: 'a', a: 'b' }]))).rejects.toThrow(
      /kind of the rows is unknown; the first row has q, a\. Name the columns/,
    )
    await expect(inspect(jsonl('both.jsonl', [{ question: 'a', query: 'b', answer: 'c' }]))).rejects.toThrow(
      /question, query: each can be the prompt; set columns to choose one, such as columns: \{prompt: question\}/,
    )
  })
})

it('lengths are put into powers of two', () => {
  expect(summarizeLengths(Uint32Array.of(0, 1, 5, 5, 40))).toEqual({
    count: 5,
    min: 0,
    median: 5,
    mean: 10.2,
    p95: 40,
    max: 40,
    bins: [
      { from: 0, to: 0, count: 1 },
      { from: 1, to: 1, count: 1 },
      { from: 2, to: 3, count: 0 },
      { from: 4, to: 7, count: 2 },
      { from: 8, to: 15, count: 0 },
      { from: 16, to: 31, count: 0 },
      { from: 32, to: 63, count: 1 },
    ],
  })
  expect(summarizeLengths(new Uint32Array())).toMatchObject({ count: 0, bins: [] })
})

describe('whetstone data inspect', () => {
  it('prints what a file is, and ends with 1 where a row is wrong', async () => {
    let out = ''
    vi.spyOn(process.stdout, 'write').mockImplementation(text => {
      out += text
      return true
    })
    vi.spyOn(process, 'cwd').mockReturnValue(folder)
    jsonl('fine.jsonl', [{ q: 'What?', a: 'Yes.' }])
    expect(await main(['data', 'inspect', 'fine.jsonl', '--columns', 'prompt=q,completion=a'])).toBe(0)
    expect(out).toContain('user: What?\n[Yes.]')
    write('wrong.jsonl', '{"prompt":"a"}\n{"prompt":\n')
    expect(await main(['data', 'inspect', 'wrong.jsonl', '--rows', '0'])).toBe(1)
    expect(out).toMatch(/wrong\.jsonl:2: not JSON/)
  })

  it.each([
    [[], /expected an action: inspect/],
    [['look'], /unknown action "look"; there is: inspect/],
    [['inspect'], /expected a file or a folder to inspect/],
    [['inspect', 'a.jsonl', '--kind', 'promts'], /did you mean prompts\?/],
    [['inspect', 'a.jsonl', '--columns', 'prompt'], /--columns: expected such as prompt=question, got "prompt"/],
    [['inspect', 'a.jsonl', '--prompt-template', 'x'], /promptTemplate: expected a text that contains \{prompt\}/],
  ])('%j is a misuse', async (args, message) => {
    let err = ''
    vi.spyOn(console, 'error').mockImplementation(text => {
      err += text
    })
    expect(await main(['data', ...args])).toBe(2)
    expect(err).toMatch(message)
  })
})
