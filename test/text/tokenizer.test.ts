import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { Tokenizer, TokenizerError } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'
import { golden, oracle, tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

let tokenizer: Tokenizer
beforeAll(async () => {
  tokenizer = await Tokenizer.load(tokenizerPath)
})

describe('equal to transformers', () => {
  test.each(golden.encode.map((row, i) => ({ ...row, i })))('encoding $i', async row => {
    expect(Array.from(await tokenizer.encode(row.text))).toEqual(row.ids)
    expect(await tokenizer.decode(row.ids)).toBe(row.decoded)
    expect(await tokenizer.decode(row.ids, { skipSpecialTokens: true })).toBe(row.decoded_skip_special)
  })

  test('a batch is its texts one by one', async () => {
    const ids = await tokenizer.encodeBatch(golden.encode.map(row => row.text))
    expect(ids.map(one => Array.from(one))).toEqual(golden.encode.map(row => row.ids))
  })

  test.each(oracle.cleanUp)('spaces, stored padding and truncation: $config', async row => {
    const dir = await tokenizerDirectory({
      'tokenizer_config.json': row.config,
      ...(row.tokenizer && { 'tokenizer.json': row.tokenizer }),
    })
    const other = await Tokenizer.load(dir)
    expect(Array.from(await other.encode(row.text))).toEqual(row.ids)
    expect(Array.from(await other.encode(row.text, { addSpecialTokens: false }))).toEqual(row.bareIds)
    expect(await other.decode(row.ids)).toBe(row.decoded)
    expect(await other.decode(row.ids, { skipSpecialTokens: true })).toBe(row.decodedSkipSpecial)
    expect(other.padId ?? null).toBe(row.pad)
  })
})

test('byte-level encoding loses nothing but what NFC changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async text => {
      const normal = text.normalize('NFC')
      expect(await tokenizer.decode(await tokenizer.encode(normal))).toBe(normal)
    }),
  )
})

test('tokens and ids', () => {
  expect(tokenizer.vocabSize).toBe(2000)
  expect(tokenizer.idOf('<|im_end|>')).toBe(2)
  expect(tokenizer.tokenOf(2)).toBe('<|im_end|>')
  expect(tokenizer.idOf('no such token')).toBeUndefined()
  expect(tokenizer.tokenOf(2000)).toBeUndefined()
  expect(tokenizer.tokenOf(-1)).toBeUndefined()
})

test('ids beyond the vocabulary decode to nothing; what is not an id is refused', async () => {
  expect(await tokenizer.decode([71, 1_000_000])).toBe('a')
  await expect(tokenizer.decode([71, -1])).rejects.toThrow('position 1')
})

describe('special tokens', () => {
  test.each(oracle.discovery)('as transformers: $name', async row => {
    const dir = await tokenizerDirectory({
      'tokenizer_config.json': row.config,
      ...(row.specialTokensMap && { 'special_tokens_map.json': row.specialTokensMap }),
    })
    const found = await Tokenizer.load(dir)
    expect([found.bosId ?? null, found.eosId ?? null, found.padId ?? null]).toEqual([row.bos, row.eos, row.pad])
    expect(found.vocabSize).toBe(row.vocabSize)
    expect(Object.fromEntries(found.specialTokens)).toEqual(row.named)
    expect([...found.specialIds]).toEqual(expect.arrayContaining(row.allSpecialIds))
    expect(Array.from(await found.encode(row.probe))).toEqual(row.ids)
    expect(await found.decode(row.ids, { skipSpecialTokens: true })).toBe(row.decodedSkipSpecial)
    expect(found.stopIds).toEqual(row.eos === null ? [] : [row.eos])
  })

  const eos = { eos_token: '<|im_end|>' }
  test.each([
    {
      name: 'generation config stops at a list',
      config: eos,
      generation: { eos_token_id: [2, 0] },
      eosId: 2,
      stopIds: [2, 0],
    },
    {
      name: 'generation config before config',
      generation: { eos_token_id: 0 },
      model: { eos_token_id: 2 },
      eosId: 0,
      stopIds: [0],
    },
    { name: 'config alone', model: { eos_token_id: [2, 0], pad_token_id: 5 }, eosId: 2, padId: 5, stopIds: [2, 0] },
    { name: 'nested text config', model: { text_config: { eos_token_id: 2 } }, eosId: 2, stopIds: [2] },
    { name: 'tokenizer before both', config: eos, model: { eos_token_id: 0 }, eosId: 2, stopIds: [0] },
    { name: 'bos is the tokenizer\u2019s alone', model: { bos_token_id: 1 }, stopIds: [] },
    { name: 'null ids', generation: { eos_token_id: null, pad_token_id: null }, stopIds: [] },
  ])('$name', async ({ config = {}, generation = {}, model = {}, eosId, padId, stopIds }) => {
    const dir = await tokenizerDirectory({
      'tokenizer_config.json': config,
      'generation_config.json': generation,
      'config.json': model,
    })
    const found = await Tokenizer.load(dir)
    expect(found.bosId).toBeUndefined()
    expect([found.eosId, found.padId]).toEqual([eosId, padId])
    expect(found.stopIds).toEqual(stopIds)
  })

  test('every special token of the fixture', () => {
    expect([...tokenizer.specialIds].sort()).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
})

describe('directories that cannot be used', () => {
  const failing = async (dir: string) => {
    const error = await Tokenizer.load(dir).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(TokenizerError)
    return (error as TokenizerError).message
  }

  test('tokenizer.json missing, cut short, or not a tokenizer', async () => {
    const dir = temporaryDirectory()
    expect(await failing(dir)).toContain(`${join(dir, 'tokenizer.json')}: not found`)
    expect(await failing(join(dir, 'nowhere'))).toContain('not found')
    await writeFile(join(dir, 'tokenizer.json'), '{"version": "1.0", "mod')
    expect(await failing(dir)).toMatch(/tokenizer\.json: not valid JSON/)
    await writeFile(join(dir, 'tokenizer.json'), '{"version": "1.0"}')
    expect(await failing(dir)).toMatch(/tokenizer\.json: not a tokenizer/)
    await writeFile(join(dir, 'tokenizer.json'), '[]')
    expect(await failing(dir)).toMatch(/tokenizer\.json: expected a JSON object/)
  })

  test.each([
    ['tokenizer_config.json', '{', /tokenizer_config\.json: not valid JSON/],
    ['tokenizer_config.json', { eos_token: 2 }, /tokenizer_config\.json: eos_token: expected a token/],
    ['tokenizer_config.json', { extra_special_tokens: 'x' }, /extra_special_tokens: expected a list/],
    ['tokenizer_config.json', { extra_special_tokens: ['x', 1] }, /extra_special_tokens\[1\]: expected a token/],
    ['tokenizer_config.json', { chat_template: 1 }, /chat_template: expected a string/],
    ['tokenizer_config.json', { chat_template: [{ name: 'a' }] }, /chat_template\[0\]: expected/],
    ['tokenizer_config.json', { split_special_tokens: true }, /split_special_tokens/],
    ['special_tokens_map.json', 'null', /special_tokens_map\.json: expected a JSON object/],
    ['generation_config.json', '{,}', /generation_config\.json: not valid JSON/],
  ])('%s %j', async (name, content, message) => {
    expect(await failing(await tokenizerDirectory({ [name]: content }))).toMatch(message)
  })

  test('only tokenizer.json has to be there', async () => {
    const dir = temporaryDirectory()
    await copyFile(join(tokenizerPath, 'tokenizer.json'), join(dir, 'tokenizer.json'))
    expect((await Tokenizer.load(dir)).vocabSize).toBe(2000)
  })
})
