import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { isByteLevel } from '../../src/text/byte-level.js'
import { Tokenizer } from '../../src/text/index.js'
import { tokenReader } from '../../src/text/token-reader.js'
import { oracle, tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

/** Added tokens: not in the alphabet of bytes, in it but no text, a byte order mark, flagged special here or there. */
const ADDED = ['日本 x', 'Ã©é', '\uFEFF', 'ðŁ', '<a>', '<b>']
const added = (content: string, flags: object = {}) => ({ content, special: false, normalized: false, ...flags })

let tokenizer: Tokenizer
beforeAll(async () => {
  const file = JSON.parse(await readFile(join(tokenizerPath, 'tokenizer.json'), 'utf8')) as { added_tokens: object[] }
  const flags = { single_word: false, lstrip: false, rstrip: false }
  for (const [i, content] of ADDED.entries()) {
    file.added_tokens.push({ id: 2000 + i, ...added(content, { ...flags, special: content === '<a>' }) })
  }
  tokenizer = await Tokenizer.load(
    await tokenizerDirectory({
      'tokenizer.json': file,
      'tokenizer_config.json': {
        bos_token: 'a',
        eos_token: '<b>',
        added_tokens_decoder: { 0: added('<|endoftext|>'), 1: added('the', { special: true }), 2: added('<a>') },
      },
    }),
  )
})

const lone = Array.from({ length: 256 }, (_, i) => i + 7)
const id = fc.oneof(
  fc.nat({ max: 2010 }),
  fc.constantFrom(...lone),
  fc.nat({ max: 8 }),
  fc.integer({ min: 1999, max: 2007 }),
  fc.constantFrom(151_935, 2 ** 31 - 1),
)

/** What a reader makes of ids that come `pieces[i]` at a time. */
async function read(
  ids: number[],
  pieces: number[],
  options: { skipSpecialTokens: boolean; before: Int32Array },
): Promise<string> {
  const reader = tokenReader(tokenizer, options)
  let text = ''
  let at = 0
  for (const piece of pieces) {
    text += await reader.read(ids.slice(at, at + piece), { last: false })
    at += piece
  }
  return text + (await reader.read(ids.slice(at), { last: true }))
}

describe('byte-level', () => {
  test('in whatever pieces tokens come, their text is what decode gives', async () => {
    expect(tokenizer.byteLevel).toBeDefined()
    const pieces = fc.array(fc.nat({ max: 4 }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.array(id, { maxLength: 40 }), pieces, fc.boolean(), async (ids, sizes, skipSpecialTokens) => {
        const text = await read(ids, sizes, { skipSpecialTokens, before: new Int32Array(0) })
        expect(text).toBe(await tokenizer.decode(ids, { skipSpecialTokens }))
      }),
      { numRuns: 3000 },
    )
  })

  test.each([{ skipSpecialTokens: true }, { skipSpecialTokens: false }])('every token alone, %j', async options => {
    const { byteLevel, vocabSize } = tokenizer
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    for (let id = 0; id < vocabSize + 3; id++) {
      const piece = byteLevel!.pieceOf(id, options)
      const text = typeof piece === 'string' ? piece : decoder.decode(piece)
      expect(text, `token ${id}`).toBe(await tokenizer.decode([id], options))
    }
  })

  test('bytes in any order: as text is decoded everywhere', async () => {
    const bytes = lone.map(one => tokenizer.byteLevel!.pieceOf(one, { skipSpecialTokens: false }))
    const values = bytes.map(piece => (typeof piece === 'string' ? piece.charCodeAt(0) : piece[0]!))
    expect(new Set(values).size).toBe(256)
    const interesting = fc.constantFrom(0x41, 0x80, 0x9f, 0xa0, 0xbb, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff)
    await fc.assert(
      fc.asyncProperty(fc.array(interesting, { maxLength: 12 }), async wanted => {
        const ids = wanted.map(value => lone[values.indexOf(value)]!)
        const ones = ids.map(() => 1)
        const text = await read(ids, ones, { skipSpecialTokens: false, before: new Int32Array(0) })
        expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(wanted)))
      }),
      { numRuns: 1000, examples: [[[0xef, 0xbb, 0xbf, 0x41]]] },
    )
  })

  test('a character is given when its last byte comes', async () => {
    const ids = await tokenizer.encode('é😀', { addSpecialTokens: false })
    const reader = tokenReader(tokenizer, { skipSpecialTokens: true, before: new Int32Array(0) })
    const parts = Array.from(ids, one => reader.read([one], { last: false }))
    expect(parts.at(-1)).toBe('😀')
    expect(parts.join('')).toBe('é😀')
  })

  describe('a character that was begun before', () => {
    let [start, end, b]: number[][] = []
    beforeAll(async () => {
      const ids = [...(await tokenizer.encode('😀b', { addSpecialTokens: false }))]
      ;[start, end, b] = [ids.slice(0, -2), ids.slice(-2, -1), ids.slice(-1)]
    })
    const readAfter = (...ids: number[]) =>
      read(ids, [1, 1, 1], { skipSpecialTokens: true, before: Int32Array.of(...b!, ...start!) })

    test('is read when it is finished', async () => {
      expect(await readAfter(...end!, ...b!)).toBe('😀b')
    })
    test('is not when it is not', async () => {
      expect(await readAfter()).toBe('')
      expect(await readAfter(...b!)).toBe('b')
      expect(await readAfter(...start!, ...end!)).toBe('😀')
    })
  })
})

describe('which tokenizers are', () => {
  const bytes = { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true }
  test.each([
    [bytes, true],
    [{ type: 'Sequence', decoders: [bytes] }, true],
    [{ type: 'Sequence', decoders: [bytes, bytes] }, false],
    [{ type: 'Sequence', decoders: [bytes, { type: 'Fuse' }] }, false],
    [{ type: 'Sequence', decoders: [] }, false],
    [{ type: 'ByteFallback' }, false],
    [null, false],
  ])('decoder %j: %s', (decoder, expected) => {
    expect(isByteLevel(decoder)).toBe(expected)
  })

  test('one whose decoder is something else, or whose spaces are cleaned up, is read in windows', async () => {
    const { tokenizer: pieces, config, text, decoded } = oracle.cleanUp[0]!
    const other = await Tokenizer.load(
      await tokenizerDirectory({ 'tokenizer.json': pieces!, 'tokenizer_config.json': config }),
    )
    expect(other.byteLevel).toBeUndefined()
    const reader = tokenReader(other, { skipSpecialTokens: false, before: new Int32Array(0) })
    expect(await reader.read(await other.encode(text), { last: true })).toBe(decoded)
    const cleaned = await tokenizerDirectory({
      'tokenizer_config.json': {
        clean_up_tokenization_spaces: true,
        clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output: true,
      },
    })
    expect((await Tokenizer.load(cleaned)).byteLevel).toBeUndefined()
  })
})
