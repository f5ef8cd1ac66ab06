import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { LocalModel } from '../../src/model/index.js'
import { capturedOutput } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'
import type { Golden } from '../support/generation.js'
import { fixture, readCase } from '../support/models.js'
import { widerDirectory } from '../support/tiny-model.js'
import { tokenizer } from '../support/tokenizers.js'

let model: string
beforeAll(async () => {
  model = await widerDirectory()
})
const work = temporaryDirectory()
const printed = capturedOutput()

interface Line {
  index: number
  sample: number
  prompt_ids: number[]
  ids: number[]
  text: string
  logprobs: number[]
  logprobs_mode: string
  finish_reason: string
  error?: { reason: string }
}

async function generate(rows: readonly unknown[], args: readonly string[] = [], directory = model) {
  const [input, output] = [join(work, 'in.jsonl'), join(work, `out${Math.random()}.jsonl`)]
  writeFileSync(input, rows.map(row => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''))
  const code = await main(['generate', '--model', directory, '--input', input, '--output', output, ...args])
  const lines = existsSync(output)
    ? readFileSync(output, 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Line)
    : undefined
  return { code, lines }
}

test('prompts in all three forms, samples in order, ids and text that agree', async () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const rows = [{ prompt: 'Once upon a time' }, { ids: [5, 6, 7] }, { messages }]
  const { code, lines } = await generate(rows, ['--n', '3', '--max-new-tokens', '9', '--seed', '4'])
  expect(code).toBe(0)
  expect(printed.stderr).toMatch(/9 responses, \d+ tokens/)
  expect(lines!.map(({ index, sample }) => [index, sample])).toEqual(
    [0, 1, 2].flatMap(index => [0, 1, 2].map(sample => [index, sample])),
  )
  const asked = [{ role: 'user', content: 'Once upon a time' }]
  expect(lines![0]!.prompt_ids).toEqual([...(await tokenizer.encodeChat(asked, { addGenerationPrompt: true }))])
  expect(lines![3]!.prompt_ids).toEqual([5, 6, 7])
  expect(lines![6]!.prompt_ids).toEqual([...(await tokenizer.encodeChat(messages, { addGenerationPrompt: true }))])
  for (const { ids, logprobs, finish_reason, logprobs_mode, text } of lines!) {
    expect(ids.length).toBe(logprobs.length)
    expect(logprobs.every(value => value < 0)).toBe(true)
    expect([finish_reason, logprobs_mode]).toEqual([ids.length === 9 ? 'length' : 'stop', 'raw'])
    if (finish_reason === 'length') expect(text).toBe(await tokenizer.decode(ids, { skipSpecialTokens: true }))
  }
  const again = await generate(rows, ['--n', '3', '--max-new-tokens', '9', '--seed', '4', '--max-sequences', '2'])
  expect(again.lines).toEqual(lines)
})

test('a directory without a tokenizer: ids in, ids out', async () => {
  const { sequences, greedy_24: expected } = readCase<Golden>('llama')
  const args = ['--temperature', '0', '--max-new-tokens', '24', '--min-new-tokens', '24', '--logprobs', 'processed']
  const { code, lines } = await generate(
    sequences.map(ids => ({ ids })),
    args,
    fixture('llama'),
  )
  expect(code).toBe(0)
  expect(lines!.map(({ ids }) => ids)).toEqual(expected)
  expect(lines![0]).not.toHaveProperty('text')
  expect(lines![0]!.logprobs_mode).toBe('processed')
})

test('a prompt that is too long is a line of its own; it can be cut instead', async () => {
  const rows = [{ ids: Array.from({ length: 300 }, (_, i) => i + 3) }, { ids: [4, 5] }]
  const { code, lines } = await generate(rows, ['--max-new-tokens', '2'])
  expect(code).toBe(0)
  expect(lines![0]).toMatchObject({ index: 0, sample: 0, error: { reason: 'prompt-too-long' } })
  expect(lines![1]!.ids.length).toBeGreaterThan(0)
  expect(printed.stderr).toContain('1 rejected')
  const none = await generate(rows.slice(0, 1), ['--max-new-tokens', '2'])
  expect([none.code, none.lines!.length]).toEqual([1, 1])
  const cut = await generate(rows, ['--max-new-tokens', '2', '--truncate-prompt', '4', '--truncate-side', 'right'])
  expect(cut.lines![0]!.prompt_ids).toEqual([3, 4, 5, 6])
})

test('an adapter takes part', async () => {
  const args = ['--max-new-tokens', '6', '--seed', '3']
  const adapted = await generate([{ ids: [4, 5, 6] }], [...args, '--adapter', fixture('qwen2-lora')], fixture('qwen2'))
  expect(adapted.code).toBe(0)
  const { prompt_ids, ids, logprobs } = adapted.lines![0]!
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: fixture('qwen2-lora') })
  const sequence = Int32Array.from([...prompt_ids, ...ids])
  const [score] = await model.score([sequence], { from: prompt_ids.length })
  const [base] = await model.score([sequence], { from: prompt_ids.length, adapter: 'off' })
  model.dispose()
  for (const [t, value] of logprobs.entries()) expect(value).toBeCloseTo(score!.logprobs[t]!, 4)
  expect(logprobs[0]).not.toBeCloseTo(base!.logprobs[0]!, 3)
})

describe('a long run', () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ ids: [5, 6, 3 + i] }))
  const args = ['--n', '8', '--max-new-tokens', '40', '--max-sequences', '16']
  const { isTTY, columns } = process.stderr
  beforeEach(() => {
    process.stderr.columns = 200
  })
  afterEach(() => {
    Object.assign(process.stderr, { isTTY, columns })
  })

  test.each([true, false])('says how it goes, on a terminal: %s', async terminal => {
    process.stderr.isTTY = terminal
    expect((await generate(rows, args)).code).toBe(0)
    const how = '[\\d,]+ tokens/s, \\d+ running, \\d+ waiting'
    const line = terminal
      ? `\r\x1b\\[K(?:\x1b\\[\\?7l)?  generating \\[(?:\x1b\\[\\d+m|[#.])+\\] \\d+ % of`
      : '\n?  generating [2468]0 % of'
    expect(printed.stderr).toMatch(new RegExp(`${line} 800 responses  ${how}`))
  })

  test('that is interrupted leaves nothing', async () => {
    process.stderr.isTTY = true
    const outputs = () => readdirSync(work).filter(name => name.includes('out'))
    const before = outputs()
    const generating = generate(rows, ['--n', '64', ...args.slice(2)])
    setTimeout(() => process.emit('SIGINT'), 300)
    const { code, lines } = await generating
    expect([code, lines]).toEqual([130, undefined])
    expect(printed.stderr).toContain('was not written.')
    expect(outputs()).toEqual(before)
  })
})

test.each(['generate', 'chat', 'serve'])('%s: a device that is not there is one message and what to do', async verb => {
  const files = verb === 'generate' ? ['--input', join(work, 'in.jsonl'), '--output', join(work, 'x')] : []
  expect(await main([verb, '--model', model, '--device', 'cuda:99', ...files])).toBe(1)
  expect(printed.stderr).toMatch(
    /^whetstone: --device: there is no cuda:99 on this machine: .*\n`whetstone doctor` lists the devices\. .*\n$/,
  )
})

test('a file in the model directory is refused', async () => {
  writeFileSync(join(work, 'in.jsonl'), '{"ids":[1,2]}')
  const args = ['--input', join(work, 'in.jsonl'), '--output', join(model, 'config.json')]
  expect(await main(['generate', '--model', model, ...args])).toBe(1)
  expect(printed.stderr).toContain('is inside the input directory')
})

test('bad lines are listed, and nothing is written', async () => {
  const { code, lines } = await generate(['{"ids":[1,2]}', '{', '{"text":"x"}', '{"ids":[1.5]}', '{"messages":[]}'])
  expect(code).toBe(1)
  expect(lines).toBeUndefined()
  for (const line of [2, 3, 4, 5]) expect(printed.stderr).toContain(`in.jsonl:${line}: `)
})

test.each([
  [['--temperature', 'hot'], /--temperature/],
  [['--top-p', '2'], /--top-p: expected a number above 0 and at most 1, got "2"/],
  [['--stop-id', '90000'], /--stop-id should be ids below/],
  [['--n', '0'], /--n/],
  [['--min-new-tokens', '9', '--max-new-tokens', '8'], /--min-new-tokens: 9 is more than --max-new-tokens \(8\)/],
  [['--logprobs', 'some'], /--logprobs/],
  [['--tempreature', '1'], /did you mean --temperature/],
])('%j is a misuse', async (args, expected) => {
  const { code } = await generate([{ ids: [1] }], args)
  expect(code).toBe(2)
  expect(printed.stderr).toMatch(expected)
})
