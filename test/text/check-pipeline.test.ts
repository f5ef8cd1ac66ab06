import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { checkPipeline } from '../../src/text/check-pipeline.js'
import { Tokenizer, TokenizerError } from '../../src/text/index.js'
import { tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

const read = (folder: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')) as Record<string, unknown>
const template = (parts: object) => ({
  post_processor: { type: 'TemplateProcessing', single: [], pair: [], special_tokens: {}, ...parts },
})
const sequence = (kind: string, parts: string, part: object) => ({ [kind]: { type: 'Sequence', [parts]: [part] } })
const charsmap = (bytes: number[]) => ({
  normalizer: { type: 'Precompiled', precompiled_charsmap: Buffer.from(bytes).toString('base64') },
})

/** Each of them ends the process when the library loads or uses it. */
describe('what the library does not survive is refused by name', () => {
  test.each<[string, object]>([
    ['normalizer.prepend: expected a text that is not empty', { normalizer: { type: 'Prepend', prepend: '' } }],
    ['normalizer.pattern.String', { normalizer: { type: 'Replace', pattern: { String: '' }, content: 'x' } }],
    ['normalizer.precompiled_charsmap', { normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } }],
    ['normalizer.precompiled_charsmap', charsmap([4, 0, 0, 0, 255, 255, 255, 127, 0])],
    ['normalizer[0].prepend', sequence('normalizer', 'normalizers', { type: 'Prepend', prepend: '' })],
    ['pre_tokenizer.length: expected at least 1', { pre_tokenizer: { type: 'FixedLength', length: 0 } }],
    ['decoder.stop: expected 0', { decoder: { type: 'Strip', content: 'a', start: 0, stop: 1 } }],
    ['decoder[0].stop', sequence('decoder', 'decoders', { type: 'Strip', content: 'a', start: 0, stop: 1 })],
    [
      'post_processor.single.0: special_tokens has no "x"',
      template({ single: [{ SpecialToken: { id: 'x', type_id: 0 } }] }),
    ],
    ['post_processor.single.0: expected the sequence A', template({ single: [{ Sequence: { id: 'B', type_id: 0 } }] })],
    [
      'model.merges: merge 1: "b" does not begin with the prefix "##"',
      {
        model: {
          type: 'BPE',
          continuing_subword_prefix: '##',
          vocab: { a: 0, '##b': 1, ab: 2, b: 3 },
          merges: [
            ['a', '##b'],
            ['a', 'b'],
          ],
        },
      },
    ],
  ])('%s', async (message, parts) => {
    const dir = await tokenizerDirectory({ 'tokenizer.json': { ...read(tokenizerPath), ...parts } })
    await expect(Tokenizer.load(dir)).rejects.toThrow(TokenizerError)
    await expect(Tokenizer.load(dir)).rejects.toThrow(`${join(dir, 'tokenizer.json')}: ${message}`)
  })

  test('a token that the normaliser leaves nothing of', async () => {
    const token = { id: 2000, content: 'q', special: false, single_word: true, lstrip: false, rstrip: false }
    const file = read(tokenizerPath)
    const dir = await tokenizerDirectory({
      'tokenizer.json': {
        ...file,
        normalizer: { type: 'Replace', pattern: { String: 'q' }, content: '' },
        added_tokens: [...(file.added_tokens as object[]), { ...token, normalized: true }],
      },
    })
    await expect(Tokenizer.load(dir)).rejects.toThrow('leaves nothing of the token "q"')
  })

  test('sequences in sequences without end', async () => {
    let deep: object = { type: 'NFC' }
    for (let i = 0; i < 5000; i++) deep = { type: 'Sequence', normalizers: [deep] }
    const parts = { ...read(tokenizerPath), normalizer: deep }
    expect(() => checkPipeline('tokenizer.json', parts)).toThrow('more than 16 deep')
  })
})

test('real pipelines pass', () => {
  for (const name of ['tokenizer', 'tokenizer-llama2'])
    checkPipeline(name, read(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))))
  const prefixed = {
    type: 'BPE',
    continuing_subword_prefix: '##',
    vocab: { a: 0, '##b': 1, ab: 2 },
    merges: ['a ##b'],
  }
  checkPipeline('prefixed', { model: prefixed })
})
