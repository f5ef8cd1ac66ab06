import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { beginnings } from '../../src/text/bounded-encoding.js'
import { Tokenizer } from '../../src/text/index.js'
import { tokenizerPath } from '../support/tokenizers.js'

describe('beginnings', () => {
  const limits = { maxTokens: 100, longestToken: 50 }

  test('a short text is looked at whole', () => {
    expect([...beginnings('x'.repeat(4000), limits)]).toEqual([4000])
  })

  test('a longer one by beginnings, each twice the last', () => {
    expect([...beginnings('x'.repeat(20_000), limits)]).toEqual([4896, 9792, 19_584, 20_000])
  })

  test('one that cannot be so many tokens not at all', () => {
    expect([...beginnings('x'.repeat(24_097), limits)]).toEqual([undefined])
  })

  test('a pair of surrogates stays together', () => {
    expect([...beginnings(`${'x'.repeat(4895)}\u{1F600}y`, limits)]).toEqual([4895, 4898])
  })
})

describe('encoded up to a number of tokens', () => {
  let tokenizer: Tokenizer
  beforeAll(async () => {
    tokenizer = await Tokenizer.load(tokenizerPath)
  })

  test('the ids are those of encode, or there are too many of them', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ maxLength: 60, unit: 'binary' }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 400 }),
        async (unit, maxTokens, times) => {
          const text = unit.repeat(times)
          const ids = await tokenizer.encode(text)
          const found = await tokenizer.encodeUpTo(text, { maxTokens })
          if (found.kind === 'encoded') expect(found.ids).toEqual(ids)
          else expect(ids.length).toBeGreaterThanOrEqual(found.atLeast)
          expect(found.kind).toBe(ids.length <= maxTokens ? 'encoded' : 'too-long')
        },
      ),
      { numRuns: 60 },
    ))

  test('a text that is far too long is not encoded at all', async () => {
    const text = 'The quick brown fox. '.repeat(200_000)
    expect(await tokenizer.encodeUpTo(text, { maxTokens: 50 })).toEqual({ kind: 'too-long', atLeast: 51 })
    const some = text.slice(0, 4 * tokenizer.longestToken * 50 + 4096)
    const found = await tokenizer.encodeUpTo(some, { maxTokens: 50 })
    expect(found.kind).toBe('too-long')
    expect((await tokenizer.encode(some)).length).toBeGreaterThan((found as { atLeast: number }).atLeast)
  })

  test('whoever has gone is not encoded for', async () => {
    await expect(tokenizer.encodeUpTo('x', { maxTokens: 5, signal: AbortSignal.abort() })).rejects.toThrow()
  })
})
