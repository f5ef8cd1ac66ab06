/** Exported files in llama.cpp (`npm run test:gguf`): the same tokens, log-probabilities, ids and conversations as here. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { exportGguf, importGguf } from '../../src/gguf/index.js'
import { preTokenizerNames } from '../../src/gguf/pre-tokenizers.js'
import { initModel, newConfig } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { rewriteGguf } from '../support/gguf.js'
import {
  bounds,
  type ComparedType,
  compareWithLlamaCpp,
  type Difference,
  goldenModel,
  llamaCpp,
  texts,
} from '../support/llama-cpp.js'
import { temporary } from '../support/models.js'

const given = process.env.WHETSTONE_GGUF_MODEL
const models: [name: string, directory: () => Promise<string>][] = [
  ...['llama', 'llama31rope', 'mistral', 'qwen2', 'qwen3', 'olmo2', 'smollm3'].map(
    (name): [string, () => Promise<string>] => [name, () => goldenModel(name)],
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

const figures: string[] = []
const shown = ({ most, mean }: Difference): string => `${most.toExponential(1)} (${mean.toExponential(1)})`
afterAll(() =>
  console.log(
    [
      'largest (and mean) difference of log-probabilities: in the same numbers, in float32, of llama.cpp from itself; greedy tokens',
      ...figures,
    ].join('\n'),
  ),
)

describe.each(models)('%s', (name, directory) => {
  test.each(Object.keys(bounds) as ComparedType[])(
    '%s: greedy tokens, log-probabilities, ids, conversations',
    async type => {
      const file = temporary(`${name}-${type}.gguf`)
      const source = await directory()
      await exportGguf(source, { out: file, type })
      // The same rounded weights on both sides: what is compared is the computation.
      const weights = temporary(`${name}-${type}-back`)
      await importGguf(file, { out: weights, dtype: 'float32' })
      const { same, float32, own, greedy, problems } = await compareWithLlamaCpp(file, { type, source, weights })
      const { equal, clear, count } = greedy
      figures.push(
        `${name} ${type}: ${[same, float32, own].map(shown).join(', ')}; ${equal} of ${count} (${clear} clear)`,
      )
      expect(problems).toEqual([])
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
