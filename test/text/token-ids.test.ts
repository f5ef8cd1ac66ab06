import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type TokenIds, tokenIds } from '../../src/text/index.js'

describe('tokenIds', () => {
  test('keeps valid ids', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(99)), ids => {
        expect(Array.from(tokenIds(ids, { vocabSize: 100 }))).toEqual(ids)
      }),
    )
  })

  test('names the position of what is not an id', () => {
    for (const bad of [-1, 100, 1.5, Number.NaN, 2 ** 32]) {
      expect(() => tokenIds([3, bad], { vocabSize: 100 })).toThrow(`position 1: expected an integer in [0, 100)`)
    }
    expect(() => tokenIds([], { vocabSize: 0 })).toThrow('vocabSize')
  })

  test('a plain array is not TokenIds', () => {
    expectTypeOf<Int32Array>().not.toExtend<TokenIds>()
    expectTypeOf<string>().not.toExtend<TokenIds>()
    expectTypeOf<TokenIds>().toExtend<Int32Array>()
  })
})
