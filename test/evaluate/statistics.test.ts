import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { meanInterval, wilsonInterval } from '../../src/evaluate/intervals.js'
import { passAtK, passCounts } from '../../src/evaluate/pass-at-k.js'
import { winRate } from '../../src/evaluate/win-rate.js'

describe('pass@k', () => {
  test('is the share of all ways to draw k answers that have a right one', () => {
    const answers = fc.array(fc.boolean(), { minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 9 }), (right, wanted) => {
        const k = Math.min(wanted, right.length)
        let [drawn, passed] = [0, 0]
        for (let subset = 0; subset < 2 ** right.length; subset++) {
          const chosen = right.filter((_, i) => subset & (1 << i))
          if (chosen.length !== k) continue
          drawn++
          if (chosen.includes(true)) passed++
        }
        const correct = right.filter(Boolean).length
        expect(passAtK({ total: right.length, correct, k })).toBeCloseTo(passed / drawn, 12)
      }),
    )
  })

  test('of one answer is the share that is right, and many answers are no matter', () => {
    expect(passAtK({ total: 8, correct: 3, k: 1 })).toBe(3 / 8)
    expect(passAtK({ total: 5000, correct: 1, k: 100 })).toBeCloseTo(0.02, 12)
    expect(passAtK({ total: 5000, correct: 4950, k: 100 })).toBe(1)
    expect(passAtK({ total: 4, correct: 0, k: 4 })).toBe(0)
  })

  test('of more answers than there are is an error', () => {
    expect(() => passAtK({ total: 4, correct: 1, k: 5 })).toThrow('pass@5 of 4 answers')
    expect(() => passAtK({ total: 4, correct: 5, k: 1 })).toThrow('5 correct answers of 4 is impossible')
  })

  test.each([
    [1, [1]],
    [2, [1, 2]],
    [8, [1, 2, 4, 8]],
    [10, [1, 2, 4, 8, 10]],
  ])('%i answers are looked at %j at a time', (answers, counts) => {
    expect(passCounts(answers)).toEqual(counts)
  })
})

describe("Wilson's interval", () => {
  // scipy 1.17.1: binomtest(wins, trials).proportion_ci(method='wilson')
  test.each([
    [5, 10, 0.236593090512564, 0.7634069094874361],
    [0, 10, 0, 0.27753279986288926],
    [10, 10, 0.7224672001371109, 1],
    [81, 263, 0.2552885198782742, 0.36620957698280004],
    [1, 29, 0.006113214292762667, 0.17175521879320282],
  ])('of %i in %i trials is from %d to %d', (wins, trials, low, high) => {
    const found = wilsonInterval(wins / trials, trials)
    expect(found.low).toBeCloseTo(low, 12)
    expect(found.high).toBeCloseTo(high, 12)
  })

  test.each([
    ['wins and losses', [0.3, 0, 0.7]],
    ['mostly ties', [0.1, 0.6, 0.3]],
    ['ties and wins', [0, 0.7, 0.3]],
    ['a rare win', [0.01, 0.9, 0.09]],
  ])('of %s holds the true mean in about 95 of 100 experiments', (_, [lost, tied]) => {
    const random = randomOf(5)
    const truth = tied! / 2 + (1 - lost! - tied!)
    const held = Array.from({ length: 4000 }, () => {
      const values = Array.from({ length: 60 }, () => {
        const drawn = random()
        return drawn < lost! ? 0 : drawn < lost! + tied! ? 0.5 : 1
      })
      const { low, high } = meanInterval(values).interval
      return low <= truth && truth <= high
    }).filter(Boolean).length
    expect(held / 4000).toBeGreaterThan(0.93)
    expect(held / 4000).toBeLessThan(0.98)
  })

  test("of a mean is a coin's for wins and losses, narrower for ties, and no point where nothing varies", () => {
    const coins = [1, 1, 0, 1, 0, 1, 1]
    expect(meanInterval(coins).interval).toEqual(wilsonInterval(5 / 7, 7))
    const wide = ({ interval: { low, high } }: ReturnType<typeof meanInterval>) => high - low
    expect(wide(meanInterval([1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]))).toBeLessThan(0.4)
    expect(meanInterval([1, 1, 1]).interval).toEqual(wilsonInterval(1, 3))
    expect([wilsonInterval(0, 24).low, wilsonInterval(1, 24).high]).toEqual([0, 1])
    // As if there were a win and a loss more: a variance of a quarter, twice, over four.
    expect(meanInterval([0.5, 0.5]).interval).toEqual(wilsonInterval(0.5, (2 * 0.25) / (0.5 / 4)))
    expect(wide(meanInterval(Array(100).fill(0.5)))).toBeLessThan(0.03)
    expect(() => meanInterval([])).toThrow('an interval of no trials')
  })
})

function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe('the win rate', () => {
  test('counts a tie as half a win, and prompts alike however many answers they have', () => {
    const duels = [
      { rewards: [1], otherRewards: [0] },
      { rewards: [0.5, 0.5], otherRewards: [0.5, 1] },
      { rewards: [], otherRewards: [1] },
    ]
    expect(winRate(duels)).toEqual({
      rate: (1 + 0.25) / 2,
      interval: meanInterval([1, 0.25]).interval,
      prompts: 2,
      missing: 1,
      wins: 1,
      ties: 2,
      losses: 2,
    })
  })

  test('of one over the other and of the other over the one are 1 together', () => {
    const rewards = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 })
    const duels = fc.array(fc.record({ rewards, otherRewards: rewards }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(duels, list => {
        const there = winRate(list)!
        const back = winRate(list.map(one => ({ rewards: one.otherRewards, otherRewards: one.rewards })))!
        expect(there.rate + back.rate).toBeCloseTo(1, 12)
        expect([there.wins, there.losses]).toEqual([back.losses, back.wins])
      }),
    )
  })

  test('of nothing that can be compared is not there', () => {
    expect(winRate([{ rewards: [], otherRewards: [1] }])).toBeUndefined()
  })
})
