/** Exported files in llama.cpp (`npm run test:gguf`): the same tokens, log-probabilities, ids and conversations as here. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { exportGguf, importGguf } from '../../src/gguf/index.js'
import { preTokenizerNames } from '../../src/gguf/pre-tokenizers.js'
import { initModel, LocalModel, newConfig } from '../../src/model/index.js'
import { LocalEngine } from '../../src/rollout/index.js'
import { type ChatMessage, Tokenizer } from '../../src/text/index.js'
import { collect, numbers, randomIds } from '../support/generation.js'
import { rewriteGguf } from '../support/gguf.js'
import { fixture, temporary } from '../support/models.js'

const installed = process.env.WHETSTONE_NODE_LLAMA_CPP
if (installed === undefined) throw new Error('run this with npm run test:gguf')

interface Answer {
  ids: number[][]
  chats: number[][]
  bos: number | null
  eos: number | null
  addsBos: boolean
  logprobs: number[][]
  greedy: number[]
}
interface Request {
  model: string
  texts?: readonly string[]
  chats?: readonly (readonly ChatMessage[])[]
  sequences?: readonly (readonly number[])[]
  greedy?: { prompt: readonly number[]; count: number }
}

const driver = new URL('llama-cpp.mjs', import.meta.url).pathname

/** libtorch and llama.cpp bring threads and allocators of their own: each has its process. */
async function llamaCpp(request: Request): Promise<Answer> {
  const child = spawn(process.execPath, [driver, installed!], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(JSON.stringify(request))
  const [answer, problems] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (answer === '') throw new Error(`llama.cpp: ${problems.slice(-2000)}`)
  return JSON.parse(answer) as Answer
}

const texts = [
  'Hello world',
  "it's, we'LL and THEY'RE don't",
  'numbers 1 12 123 1234 1234567 3.14 ²½',
  '  two  spaces,\ttabs\n\n\nlines \r\n and an end   ',
  'Größe naïve Ωμέγα Привет 你好，世界 こんにちは 한국어 हिन्दी',
  '🙂 👩‍👩‍👧 x=[1,2];if(a<b){return "c"} // $5.00 #tag @you',
  'CamelCaseWords and ALLCAPS',
  '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  'a<|endoftext|> b <|im_end|>c',
]
const chats: ChatMessage[][] = [
  [{ role: 'user', content: 'What is 2 + 2?' }],
  [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: "It's 12 o'clock." },
    { role: 'assistant', content: 'So it is.' },
    { role: 'user', content: 'And now?\n\nSay it.' },
  ],
]

/** A golden model with a tokenizer; llama.cpp has SmolLM3 with every fourth layer unrotated alone. */
async function withTokenizer(name: string): Promise<string> {
  const directory = temporary(name)
  await cp(fixture(name), directory, { recursive: true })
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    await cp(join(fixture('eos-pad'), file), join(directory, file))
  const path = join(directory, 'config.json')
  const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  if (name === 'smollm3')
    await writeFile(path, JSON.stringify({ ...config, no_rope_layer_interval: 4, no_rope_layers: [1, 1, 1, 0] }))
  return directory
}

const given = process.env.WHETSTONE_GGUF_MODEL
const models: [name: string, directory: () => Promise<string>][] = [
  ...['llama', 'llama31rope', 'mistral', 'qwen2', 'qwen3', 'olmo2', 'smollm3'].map(
    (name): [string, () => Promise<string>] => [name, () => withTokenizer(name)],
  ),
  [
    'llama-bias',
    async () => {
      const out = temporary('llama-bias')
      const file = new URL('../fixtures/gguf/llama-bias.gguf', import.meta.url).pathname
      if (!existsSync(out)) await importGguf(file, { out })
      return out
    },
  ],
  ...(given === undefined ? [] : [[basename(given), async () => given] as [string, () => Promise<string>]]),
]

/** How far log-probabilities may be from those of the same file imported here. llama.cpp also quantises what it multiplies with quantised weights. */
const bounds = { f16: 2e-2, bf16: 2e-2, q8_0: 6e-2, q4_0: 2.5e-1 } as const
const figures: string[] = []
afterAll(() => console.log(['model type most-logprob-difference same-greedy-tokens', ...figures].join('\n')))

describe.each(models)('%s', (name, directory) => {
  test.each(Object.keys(bounds) as (keyof typeof bounds)[])(
    '%s: greedy tokens, log-probabilities, ids, conversations',
    async type => {
      const source = await directory()
      const file = temporary(`${name}-${type}.gguf`)
      await exportGguf(source, { out: file, type })
      // The same rounded weights on both sides: what is compared is the computation.
      const compared = temporary(`${name}-${type}-back`)
      await importGguf(file, { out: compared, dtype: 'float32' })
      const tokenizer = await Tokenizer.load(source)
      const next = numbers(name.length)
      const encoded = await tokenizer.encode('The capital of France is Paris, and 2 + 2 = 4. Once upon a time, a dog')
      const sequences =
        name in { smollm2: 1 } || tokenizer.vocabSize > 1000
          ? [[...encoded]]
          : [0, 1].map(() => [...randomIds(next, 40, 259)])
      const prompt =
        tokenizer.vocabSize > 1000
          ? [...(await tokenizer.encodeChat(chats[0]!, { addGenerationPrompt: true }))]
          : sequences[0]!.slice(0, 12)
      const count = 24
      const theirs = await llamaCpp({ model: file, texts, chats, sequences, greedy: { prompt, count } })
      const model = await LocalModel.load(compared, { role: 'language', dtype: 'float32' })
      const scored = await model.score(sequences.map(ids => Int32Array.from(ids)))
      const engine = new LocalEngine(model, { eosIds: [] })
      const sampling = { seed: 0, temperature: 0, maxNewTokens: count, minNewTokens: count }
      const found = await collect(engine, [{ id: '0', promptIds: Int32Array.from(prompt), sampling }])
      await engine.close()
      model.dispose()

      const differences = scored.flatMap(({ logprobs }, i) =>
        Array.from(logprobs, (value, t) => Math.abs(value - theirs.logprobs[i]![t]!)),
      )
      const own = [...found.get('0/0')!.responseIds]
      const same = own.findIndex((id, i) => id !== theirs.greedy[i])
      figures.push(
        `${name} ${type} ${Math.max(...differences).toExponential(1)} ${same < 0 ? count : same} of ${count}`,
      )
      expect(Math.max(...differences)).toBeLessThan(bounds[type])
      expect(theirs.greedy).toEqual(own)

      for (const [i, text] of texts.entries())
        expect(theirs.ids[i], text).toEqual([...(await tokenizer.encode(text, { addSpecialTokens: false }))])
      for (const [i, chat] of chats.entries())
        expect(theirs.chats[i]).toEqual([...(await tokenizer.encodeChat(chat, { addGenerationPrompt: true }))])
      expect(theirs).toMatchObject({ bos: tokenizer.bosId ?? null, eos: tokenizer.eosId ?? null })
    },
  )
})

describe('tokenizers', async () => {
  const base = temporary('vocabulary.gguf')
  const source = temporary('vocabulary')
  const shape = { hidden: 32, intermediate: 32, layers: 1, heads: 2, kvHeads: 2, headDim: 16, context: 64, tied: true }
  const config = newConfig('llama', { ...shape, vocabSize: 2000 }, {})
  const tokenizer = new URL('../fixtures/tokenizer', import.meta.url).pathname
  await initModel({ config, seed: 1, dtype: 'float32', tokenizer, tokens: {}, out: source })
  await exportGguf(source, { out: base, type: 'f32' })

  test.each(preTokenizerNames)('texts are split as llama.cpp does it: %s', async name => {
    const file = temporary(`pre-${name}.gguf`)
    await rewriteGguf(base, file, { fields: { 'tokenizer.ggml.pre': { text: name } } })
    const out = temporary(`pre-${name}`)
    await importGguf(file, { out })
    const own = await Tokenizer.load(out)
    const theirs = await llamaCpp({ model: file, texts })
    for (const [i, text] of texts.entries())
      expect(theirs.ids[i], text).toEqual([...(await own.encode(text, { addSpecialTokens: false }))])
  })

  test('SentencePiece: in, and out again', async () => {
    const file = temporary('pieces.gguf')
    await rewriteGguf(base, file, { fields: sentencePieces(2000) })
    const out = temporary('pieces')
    await importGguf(file, { out })
    const again = temporary('pieces-again.gguf')
    await exportGguf(out, { out: again, type: 'f32' })
    const own = await Tokenizer.load(out)
    const spoken = [...texts, 'the time  the <s> there', '</s>then ']
    for (const model of [file, again]) {
      const theirs = await llamaCpp({ model, texts: spoken })
      for (const [i, text] of spoken.entries())
        expect(theirs.ids[i], text).toEqual([...(await own.encode(text, { addSpecialTokens: false }))])
      expect(theirs.addsBos).toBe(true)
    }
    expect((await own.encode('a'))[0]).toBe(1)
  })
})

/** A vocabulary of SentencePiece with the pieces of some words. */
function sentencePieces(rows: number) {
  const words =
    '▁the ▁then ▁there ▁time ▁and ▁hello ▁world ▁numbers ▁two ▁spaces er en th in ▁▁ ▁▁▁▁ 12 123 ll re'.split(' ')
  const letters = [...new Set([...words.join(''), ...'abcdefghijklmnopqrstuvwxyz0123456789.,'])]
  const parts = words.flatMap(word => Array.from(word, (_, i) => [...word].slice(0, i + 1).join('')))
  const pieces = [...new Set([...parts.filter(part => [...part].length > 1), ...letters])]
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...pieces]
  const first = 3 + bytes.length
  const unused = Array.from({ length: rows - tokens.length }, (_, i) => `[PAD${tokens.length + i}]`)
  return {
    'tokenizer.ggml.model': { text: 'llama' },
    'tokenizer.ggml.pre': { text: 'default' },
    'tokenizer.ggml.tokens': { texts: [...tokens, ...unused] },
    'tokenizer.ggml.scores': { f32s: [...tokens, ...unused].map((_, id) => (id < first ? 0 : first - id - 1)) },
    'tokenizer.ggml.token_type': {
      i32s: [...tokens, ...unused].map((_, id) =>
        id === 0 ? 2 : id < 3 ? 3 : id < first ? 6 : id < tokens.length ? 1 : 5,
      ),
    },
    'tokenizer.ggml.merges': undefined,
    'tokenizer.chat_template': undefined,
    'tokenizer.ggml.bos_token_id': { u32: 1 },
    'tokenizer.ggml.eos_token_id': { u32: 2 },
    'tokenizer.ggml.unknown_token_id': { u32: 0 },
    'tokenizer.ggml.padding_token_id': undefined,
    'tokenizer.ggml.eot_token_id': undefined,
    'tokenizer.ggml.add_bos_token': { bool: true },
  }
}
