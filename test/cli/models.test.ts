import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { runWhetstone, startWhetstone } from '../support/child.js'
import { cli } from '../support/cli.js'
import { expectClose } from '../support/close.js'
import { temporaryDirectory } from '../support/files.js'
import { fixture, readCase } from '../support/models.js'

const tokenizerDirectory = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))
const folder = temporaryDirectory()
const run = (args: readonly string[]) => cli(args, { cwd: folder })
let tiny: string
const path = (name: string): string => join(folder, name)
const write = (name: string, rows: readonly unknown[]): string => {
  const lines = rows.map(row => (typeof row === 'string' ? row : JSON.stringify(row)))
  writeFileSync(path(name), lines.map(line => `${line}\n`).join(''))
  return path(name)
}
const read = <T>(name: string): T[] =>
  readFileSync(path(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as T)

const shape = '--hidden 32 --intermediate 48 --layers 2 --heads 4 --kv-heads 2 --context 512'.split(' ')

beforeAll(async () => {
  const args = ['--family', 'qwen2', ...shape, '--seed', '7', '--tokenizer', tokenizerDirectory, '--out', 'tiny']
  expect(await run(['init', ...args])).toMatchObject({ code: 0, stderr: '' })
  tiny = path('tiny')
})

describe('init', () => {
  test.each(['olmo2', 'smollm3'])('a family of norms, or of layers, of its own: %s', async family => {
    const args = ['--family', family, ...shape, '--tokenizer', tokenizerDirectory, '--out', family]
    expect(await run(['init', ...args])).toMatchObject({ code: 0, stderr: '' })
    const model = await LocalModel.load(path(family), { role: 'language' })
    expect(model.config.decoder.family).toBe(family)
    const [{ logprobs }] = (await model.score([Int32Array.of(5, 6, 7, 8)])) as [{ logprobs: Float32Array }]
    // Random weights know nothing: every token is about as likely as any other.
    for (const value of logprobs) expect(Math.abs(value + Math.log(2000))).toBeLessThan(1)
    model.dispose()
  })

  test('a size by name: a directory that loads, with the tokenizer and what generation needs', async () => {
    const ran = await run(
      ['init', '--family', 'qwen3', '--size', '2m', '--layers', '1', '--no-tie', '--dtype', 'bfloat16'].concat([
        '--tokenizer',
        tokenizerDirectory,
        '--out',
        'sized',
      ]),
    )
    // 2 x 2000 x 128 of embedding and output, and one layer of 246,080 weights.
    expect(ran).toMatchObject({
      code: 0,
      stderr: '',
      stdout: 'sized: Qwen3ForCausalLM with 758,208 parameters, 2,000 tokens, bfloat16, 1.5 MB\n',
    })
    expect(readdirSync(path('sized')).sort()).toEqual([
      'chat_template.jinja',
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ])
    const config = JSON.parse(readFileSync(path('sized/config.json'), 'utf8'))
    expect(config).toMatchObject({ model_type: 'qwen3', hidden_size: 128, num_hidden_layers: 1, vocab_size: 2000 })
    expect(config).toMatchObject({ tie_word_embeddings: false, dtype: 'bfloat16', eos_token_id: 2, pad_token_id: 0 })
    const generation = JSON.parse(readFileSync(path('sized/generation_config.json'), 'utf8'))
    expect(generation).toEqual({ eos_token_id: 2, pad_token_id: 0 })
    const model = await LocalModel.load(path('sized'), { role: 'language' })
    const tokenizer = await Tokenizer.load(path('sized'))
    const [scored] = await model.score([await tokenizer.encode('What is 2 + 2?')])
    // Fresh weights know nothing: about the same for every token.
    for (const value of scored!.logprobs) expect(Math.abs(value + Math.log(2000))).toBeLessThan(1)
    model.dispose()
  })

  test('the same seed gives the same weights, another one others', async () => {
    const checksums: string[] = []
    for (const seed of ['7', '8']) {
      const args = ['--family', 'qwen2', ...shape, '--seed', seed, '--tokenizer', tokenizerDirectory]
      await run(['init', ...args, '--out', `seed-${seed}`])
    }
    for (const directory of ['tiny', 'seed-7', 'seed-8']) {
      const model = await LocalModel.load(path(directory))
      checksums.push(await model.checksum())
      model.dispose()
    }
    expect(checksums[1]).toBe(checksums[0])
    expect(checksums[2]).not.toBe(checksums[0])
  })

  test('a directory with something in it is left alone; an empty one is used', async () => {
    const args = ['init', '--family', 'llama', ...shape, '--tokenizer', tokenizerDirectory, '--out']
    mkdirSync(path('empty'))
    expect(await run([...args, 'empty'])).toMatchObject({ code: 0 })
    const before = readFileSync(path('tiny/config.json'), 'utf8')
    expect(await run([...args, 'tiny'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('tiny is not empty. Give another directory'),
    })
    expect(readFileSync(path('tiny/config.json'), 'utf8')).toBe(before)
    expect(readdirSync(folder).filter(name => name.endsWith('.tmp'))).toEqual([])
  })

  test('twice at once: one directory, and one line that says why there is not another', async () => {
    const args = ['init', '--family', 'llama', ...shape, '--tokenizer', tokenizerDirectory, '--out', 'raced']
    const ran = await Promise.all([args, args].map(one => runWhetstone(one, { cwd: folder })))
    expect(ran.map(({ code }) => code).sort()).toEqual([0, 1])
    expect(ran.find(({ code }) => code === 1)!.stderr).toMatch(/^whetstone: \S*raced[^\n]*\n$/)
    expect(readdirSync(folder).filter(name => /^\..*raced/.test(name))).toEqual([])
    const model = await LocalModel.load(path('raced'))
    model.dispose()
  })

  test('interrupted, it leaves nothing', async () => {
    const args = ['--family', 'llama', '--size', '26m', '--tokenizer', tokenizerDirectory, '--out', 'stopped-init']
    const before = readdirSync(folder)
    const child = startWhetstone(['init', ...args], { cwd: folder })
    const made = () => readdirSync(folder).some(name => name.startsWith('.stopped-init'))
    await vi.waitUntil(made, { timeout: 30_000, interval: 2 })
    const ran = await child.kill('SIGHUP')
    expect(ran).toMatchObject({ code: 129, stderr: 'Interrupted. stopped-init was not written.\n' })
    expect(readdirSync(folder)).toEqual(before)
  })

  test.each(['/sys/model', '/dev/null/model'])('%s, where nothing can be written, is one line', async out => {
    const args = ['init', '--family', 'llama', ...shape, '--tokenizer', tokenizerDirectory, '--out', out]
    const ran = await run(args)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^whetstone: [^\n]*\n$/) })
    expect(ran.stderr).toContain(out)
  })

  test.each([
    [
      ['--family', 'qwen', '--size', '2m'],
      '--family: expected one of llama, mistral, olmo2, qwen2, qwen3, smollm3, got "qwen"; did you mean',
    ],
    [['--family', 'qwen2', '--size', '3m'], '--size: expected one of 2m, 26m, 0.5b'],
    [['--family', 'qwen2', '--size', '2m'], '--tokenizer: expected a directory'],
    [['--family', 'qwen2', '--size', '2m', '--tokenizer', 'x'], '--out: expected a directory'],
    [
      ['--family', 'qwen2', '--hidden', '64', '--tokenizer', 'x', '--out', 'y'],
      'expected --size, or --intermediate, --layers, --heads',
    ],
    [
      ['--family', 'qwen2', '--size', '2m', '--layers', 'six', '--tokenizer', 'x', '--out', 'y'],
      '--layers: expected an integer of at least 1, got "six"',
    ],
    [['--family', 'qwen2', '--size', '2m', '--layrs', '6'], 'there is no option --layrs; did you mean --layers?'],
  ])('misuse: %j', async (args, message) => {
    expect(await run(['init', ...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})

describe('score', () => {
  const score = (model: string, input: string, output: string, ...more: string[]) =>
    run(['score', '--model', model, '--input', input, '--output', output, ...more])

  test.each(['on', 'off'])("ids: transformers' log-probabilities and entropies, packing %s", async packing => {
    const golden = readCase<{ sequences: number[][]; rows: { token_logprobs: number[]; entropy: number[] }[] }>('qwen3')
    const input = write(
      'ids.jsonl',
      golden.sequences.map(ids => ({ ids })),
    )
    expect(await score(fixture('qwen3'), input, 'ids.out', '--packing', packing)).toMatchObject({ code: 0, stdout: '' })
    const lines = read<{ logprobs: number[]; entropies: number[] }>('ids.out')
    expect(lines).toHaveLength(golden.sequences.length)
    for (const [i, line] of lines.entries()) {
      expect(Object.keys(line)).toEqual(['logprobs', 'entropies'])
      expectClose(line.logprobs, golden.rows[i]!.token_logprobs, 1e-4)
      expectClose(line.entropies, golden.rows[i]!.entropy.slice(0, -1), 1e-4)
    }
  })

  test("a reward model: transformers' scores", async () => {
    const golden = readCase<{ sequences: number[][]; scores: number[] }>('qwen2-reward')
    const input = write(
      'reward.jsonl',
      golden.sequences.map(ids => ({ ids })),
    )
    expect(await score(fixture('qwen2-reward'), input, 'reward.out')).toMatchObject({ code: 0 })
    const lines = read<{ score: number }>('reward.out')
    for (const line of lines) expect(Object.keys(line)).toEqual(['score'])
    expectClose(
      lines.map(line => line.score),
      golden.scores,
      1e-4,
    )
  })

  test("an adapter: PEFT's log-probabilities", async () => {
    const golden = readCase<{ sequence: number[]; token_logprobs: number[] }>('qwen2-lora')
    const input = write('lora.jsonl', [{ ids: golden.sequence }])
    expect(await score(fixture('qwen2'), input, 'lora.out', '--adapter', fixture('qwen2-lora'))).toMatchObject({
      code: 0,
    })
    expectClose(read<{ logprobs: number[] }>('lora.out')[0]!.logprobs, golden.token_logprobs, 1e-4)
  })

  test("texts: the response's tokens, and the assistant's", async () => {
    const prompt = 'What is 2 + 2?'
    const response = ' It is 4.'
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello there' },
      { role: 'user', content: prompt },
      { role: 'assistant', content: '4' },
    ]
    const input = write('texts.jsonl', [
      { prompt, response },
      { messages, id: 'any other field' },
      { prompt, response: '' },
    ])
    const ran = await score(tiny, input, 'texts.out')
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^texts\.out: 3 lines, \d+ tokens, [\d,]+ tokens\/s\n$/),
    })
    const lines = read<{ logprobs: number[]; entropies: number[] }>('texts.out')

    const tokenizer = await Tokenizer.load(tiny)
    const model = await LocalModel.load(tiny, { role: 'language' })
    const first = await tokenizer.encodeChat([{ role: 'user', content: prompt }], { addGenerationPrompt: true })
    const second = await tokenizer.encode(response, { addSpecialTokens: false })
    const [pair] = await model.score([Int32Array.of(...first, ...second)], { from: first.length })
    expectClose(lines[0]!.logprobs, pair!.logprobs, 1e-5)
    expect(lines[0]!.logprobs).toHaveLength(second.length)
    const { ids, assistantMask } = await tokenizer.encodeConversation(messages)
    const [chat] = await model.score([ids], { entropy: true })
    expectClose(
      lines[1]!.logprobs,
      chat!.logprobs.filter((_, i) => assistantMask[i + 1] === 1),
      1e-5,
    )
    expectClose(
      lines[1]!.entropies,
      chat!.entropies!.filter((_, i) => assistantMask[i + 1] === 1),
      1e-5,
    )
    expect(lines[2]).toEqual({ logprobs: [], entropies: [] })
    model.dispose()
  })

  test('bad lines: their numbers and what is wrong, before the model is loaded, and no output', async () => {
    const input = write('bad.jsonl', [
      { ids: [1, 2, 3] },
      { ids: [1, 2000] },
      { ids: [] },
      { ids: [1.5] },
      { ids: 'abc' },
      { prompt: 'a' },
      { prompt: 'a', response: null },
      { prompt: 'a', response: 'b', ids: [1] },
      { messages: [{ role: 'user', content: 'a' }] },
      { messages: [{ content: 'a' }] },
      { txt: 'a' },
      '',
      '{"ids":[1,2',
      '[1,2]',
    ])
    const missing = write('long.jsonl', [{ ids: new Array(513).fill(1) }])
    writeFileSync(path('bad.out'), 'what was there before')
    const ran = await score(tiny, input, 'bad.out')
    expect(ran.code).toBe(1)
    expect(ran.stderr.split('\n').slice(0, -1)).toEqual([
      `whetstone: ${input}: 13 bad rows`,
      `  ${input}:2: ids: token id at position 1: expected an integer in [0, 2000), got 2000`,
      `  ${input}:3: no tokens`,
      `  ${input}:4: ids: token id at position 0: expected an integer in [0, 2000), got 1.5`,
      `  ${input}:5: ids: expected a list of token ids`,
      `  ${input}:6: response: expected a string`,
      `  ${input}:7: response: expected a string`,
      expect.stringMatching(/:8: expected one of .*, got ids and prompt and response together$/),
      `  ${input}:9: messages: expected at least one message of the assistant`,
      expect.stringMatching(/:10: messages\[0\]\.role: expected a non-empty string/),
      expect.stringMatching(/:11: no conversations: expected .*; the row has txt: set columns to name them$/),
      '  and 3 more',
    ])
    expect(readFileSync(path('bad.out'), 'utf8')).toBe('what was there before')
    const nothing = write('nothing.jsonl', [{ prompt: '', response: 'a' }])
    const raw = await score(tiny, nothing, 'nothing.out', '--chat-template', 'none')
    expect(raw.stderr).toContain(':1: prompt: no tokens; the first token of the response needs a token before it')
    expect(await score(tiny, missing, 'long.out')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(":1: 513 tokens, and the model's context is 512"),
    })
    expect(existsSync(path('long.out'))).toBe(false)
    expect(readdirSync(folder).filter(name => name.endsWith('.tmp'))).toEqual([])
  })

  test.each([
    [['--input', 'none.jsonl', '--output', 'x'], 1, 'none.jsonl: there is no such file'],
    [['--input', 'tiny', '--output', 'x'], 1, 'tiny: no data files in this folder'],
    [['--input', 'ok.jsonl', '--output', 'no/where/x'], 1, 'no/where/x: its directory does not exist'],
    [['--input', 'ok.jsonl', '--output', 'x', '--packing', 'maybe'], 2, '--packing: expected on or off, got "maybe"'],
    [
      ['--input', 'ok.jsonl', '--output', 'x', '--device', 'tpu'],
      2,
      '--device: expected auto, cpu, cuda or cuda:N, got "tpu"',
    ],
    [['--input', 'ok.jsonl'], 2, '--output: expected a file'],
    [['--input', 'ok.jsonl', '--output', 'ok.jsonl'], 1, 'ok.jsonl is also the input'],
    [['--input', 'ok.jsonl', '--output', 'tiny/config.json'], 1, 'tiny/config.json is inside the input directory '],
    [
      ['--input', 'ok.jsonl', '--output', 'x', '--device', 'cuda:99'],
      1,
      '--device: there is no cuda:99 on this machine',
    ],
  ])('misuse: %j', async (args, code, message) => {
    write('ok.jsonl', [{ ids: [1, 2] }])
    const ran = await run(['score', '--model', tiny, ...args])
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(message) })
    expect(ran.stderr).not.toContain('    at ')
    expect(existsSync(path('x'))).toBe(false)
  })

  test('- and /dev/stdout stream, with the report elsewhere; a byte-order mark is no part of a line', async () => {
    const input = write('marked.jsonl', ['\uFEFF{"ids":[1,2,3]}', { ids: [4, 5] }])
    expect(await score(tiny, input, 'marked.out')).toMatchObject({ code: 0, stdout: '' })
    const lines = readFileSync(path('marked.out'), 'utf8')
    expect(lines.trimEnd().split('\n')).toHaveLength(2)
    for (const output of ['-', '/dev/stdout'])
      expect(await score(tiny, input, output)).toMatchObject({
        code: 0,
        stdout: lines,
        stderr: expect.stringMatching(/^standard output: 2 lines, 5 tokens, /),
      })
  })
})

test('a chat template that is wrong is named by its file, an unknown role by its message', async () => {
  cpSync(tiny, path('bad-template'), { recursive: true })
  writeFileSync(path('bad-template/chat_template.jinja'), '{% for m in messages %}')
  const input = write('roles.jsonl', [
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Ho' },
      ],
    },
    { messages: [{ role: 'asistant', content: 'Hi' }] },
  ])
  const score = (model: string) => run(['score', '--model', model, '--input', input, '--output', 'roles.out'])
  expect((await score(path('bad-template'))).stderr).toContain(
    `whetstone: ${path('bad-template/chat_template.jinja')}: the chat template does not parse`,
  )
  const ran = await score(tiny)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(
    ':2: messages[0].role: "asistant" is not a role of this chat template; did you mean assistant?',
  )
})

test('an adapter of what adapters are not supported for is one line', async () => {
  mkdirSync(path('lm-head'))
  const config = JSON.parse(readFileSync(join(fixture('qwen2-lora'), 'adapter_config.json'), 'utf8')) as object
  writeFileSync(path('lm-head/adapter_config.json'), JSON.stringify({ ...config, target_modules: ['lm_head'] }))
  cpSync(join(fixture('qwen2-lora'), 'adapter_model.safetensors'), path('lm-head/adapter_model.safetensors'))
  const input = write('one.jsonl', [{ ids: [1, 2] }])
  const args = ['--model', fixture('qwen2'), '--adapter', path('lm-head'), '--input', input, '--output', 'lm-head.out']
  const ran = await run(['score', ...args])
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^whetstone: [^\n]*lm_head[^\n]*\n$/) })
})

test.each(['init', 'score'])('%s --help', async verb => {
  expect(await run([verb, '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Usage: whetstone ${verb}`),
  })
})
