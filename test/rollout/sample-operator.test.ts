import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callOperator, scope, Tensor } from '../../src/tensor/index.js'
import { numbers } from '../support/generation.js'

interface Settings {
  temperature?: number
  topK?: number
  topP?: number
  minP?: number
}

/** `samplingRows` tokens from one row of logits, each with a stream of its own; or those that are `targetIds`. */
function samplingRow(
  logits: readonly number[],
  settings: Settings,
  samplingRows: number,
  forbidden: readonly number[] = [],
  targetIds = new Int32Array(samplingRows).fill(-1),
) {
  const { temperature = 1, topK = -1, topP = 1, minP = 0 } = settings
  return scope(() => {
    const rows = Tensor.from(Float32Array.from(logits)).unsqueeze(0).repeat([samplingRows, 1])
    const each = <T>(values: readonly T[]): T[] => Array.from({ length: samplingRows }, () => values).flat()
    const [ids, logprobs] = callOperator(
      'whetstone::sample',
      rows,
      Tensor.from(Float64Array.from(each([temperature, topK, topP, minP])), { shape: [samplingRows, 4] }),
      Tensor.from(
        Int32Array.from({ length: 3 * samplingRows }, (_, i) => (i % 3 === 0 ? Math.floor(i / 3) * 7919 : i % 3)),
      ),
      Tensor.from(targetIds),
      Tensor.from(Int32Array.from({ length: samplingRows + 1 }, (_, i) => i * forbidden.length)),
      Tensor.from(Int32Array.from(each(forbidden))),
      -1,
    ) as Tensor[]
    const both = logprobs!.toArray<'float32'>()
    return { ids: ids!.toArray<'int32'>(), raw: both.slice(0, samplingRows), processed: both.slice(samplingRows) }
  })
}

function softmax(logits: readonly number[], temperature = 1): number[] {
  const most = Math.max(...logits)
  const powers = logits.map(x => Math.exp((x - most) / temperature))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map(power => power / sum)
}

/** What is left after the filters, as transformers applies them: temperature, top-k, top-p, min-p. */
function filtered(logits: readonly number[], { temperature = 1, topK = -1, topP = 1, minP = 0 }: Settings): number[] {
  let kept = new Set(logits.keys())
  const renormalised = (): number[] => {
    const p = softmax(
      logits.map((x, i) => (kept.has(i) ? x : Number.NEGATIVE_INFINITY)),
      temperature,
    )
    return p
  }
  const byProbability = (p: readonly number[]): number[] => [...kept].sort((a, b) => p[b]! - p[a]!)
  if (topK > 0) kept = new Set(byProbability(renormalised()).slice(0, topK))
  if (topP < 1) {
    const p = renormalised()
    let sum = 0
    kept = new Set(
      byProbability(p).filter(i => {
        const before = sum
        sum += p[i]!
        return before < topP
      }),
    )
  }
  if (minP > 0) {
    const p = renormalised()
    const most = Math.max(...p)
    kept = new Set([...kept].filter(i => p[i]! >= minP * most))
  }
  return renormalised()
}

/** The square root of 2 chi-square is nearly normal around sqrt(2 df - 1): five deviations is one failure in a million. */
function expectDistribution(ids: Int32Array, expected: readonly number[]): void {
  const counts = new Array<number>(expected.length).fill(0)
  for (const id of ids) counts[id]!++
  let chi = 0
  let cells = 0
  let [rareExpected, rareFound] = [0, 0]
  for (const [i, p] of expected.entries()) {
    if (p === 0) {
      expect(counts[i], `token ${i} was filtered out`).toBe(0)
      continue
    }
    if (p * ids.length < 5) {
      rareExpected += p * ids.length
      rareFound += counts[i]!
      continue
    }
    cells++
    chi += (counts[i]! - p * ids.length) ** 2 / (p * ids.length)
  }
  if (rareExpected > 1) {
    cells++
    chi += (rareFound - rareExpected) ** 2 / rareExpected
  }
  expect(Math.sqrt(2 * chi) - Math.sqrt(Math.max(0, 2 * (cells - 1) - 1))).toBeLessThan(5)
}

const next = numbers(21)
const normal = () => Array.from({ length: 12 }, () => next(1e6) / 1e6).reduce((a, b) => a + b, -6)
const logits = Array.from({ length: 203 }, () => 2 * normal())

test.each<[string, Settings]>([
  ['nothing', {}],
  ['a low temperature', { temperature: 0.5 }],
  ['a high temperature', { temperature: 2 }],
  ['top-k', { topK: 17 }],
  ['top-p', { topP: 0.7 }],
  ['min-p', { minP: 0.1 }],
  ['top-k and top-p', { topK: 40, topP: 0.8 }],
  ['top-p and min-p', { topP: 0.95, minP: 0.02, temperature: 1.5 }],
  ['all of them', { temperature: 0.8, topK: 50, topP: 0.9, minP: 0.05 }],
])('sampled frequencies and log-probabilities with %s', (_, settings) => {
  const expected = filtered(logits, settings)
  const { ids, raw, processed } = samplingRow(logits, settings, 40_000)
  expectDistribution(ids, expected)
  const plain = softmax(logits)
  for (let i = 0; i < 500; i++) {
    expect(raw[i]).toBeCloseTo(Math.log(plain[ids[i]!]!), 4)
    expect(processed[i]).toBeCloseTo(Math.log(expected[ids[i]!]!), 4)
  }
})

test('filters keep exactly the tokens they should, however sharp or flat the logits are', () => {
  const spread = fc.constantFrom(0.01, 0.5, 3, 20)
  const settings = fc.record({
    temperature: fc.constantFrom(0.6, 1, 1.7),
    topK: fc.oneof(fc.constant(-1), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 13, max: 700 })),
    topP: fc.oneof(fc.constant(1), fc.double({ min: 0.01, max: 0.999, noNaN: true })),
    minP: fc.constantFrom(0, 0.01, 0.3),
  })
  fc.assert(
    fc.property(spread, settings, fc.integer({ min: 1, max: 600 }), (spread, settings, count) => {
      const logits = Array.from({ length: count }, () => Math.fround(spread * normal()))
      // A share that ends within rounding of a token's border may fall on either side of it.
      const shifted = (by: number): number[] =>
        filtered(logits, { ...settings, topP: settings.topP < 1 ? settings.topP + by : 1 })
      const [fewest, most] = [shifted(-1e-6), shifted(1e-6)]
      const { processed } = samplingRow(logits, settings, count, [], Int32Array.from(logits.keys()))
      const wrong = [...processed.keys()].filter(i =>
        processed[i]! > Number.NEGATIVE_INFINITY ? most[i] === 0 : fewest[i]! > 0,
      )
      expect(wrong).toEqual([])
    }),
    { numRuns: 200 },
  )
})

test('forbidden tokens are not drawn, and their share goes to the others', () => {
  const forbidden = [...softmax(logits).keys()].sort((a, b) => logits[b]! - logits[a]!).slice(0, 5)
  const left = logits.map((x, i) => (forbidden.includes(i) ? Number.NEGATIVE_INFINITY : x))
  const { ids, processed } = samplingRow(logits, {}, 40_000, forbidden)
  expectDistribution(ids, softmax(left))
  expect(processed[0]).toBeCloseTo(Math.log(softmax(left)[ids[0]!]!), 4)
  const greedy = samplingRow(logits, { temperature: 0 }, 1, forbidden)
  expect(greedy.ids[0]).toBe(left.indexOf(Math.max(...left)))
})

test('a large vocabulary: the whole of it is reached, in proportion', () => {
  const wide = Array.from({ length: 150_001 }, (_, i) => (i % 3 === 0 ? 1 : 0))
  const { ids } = samplingRow(wide, {}, 300)
  const heavy = [...ids].filter(id => id % 3 === 0).length / 300
  expect(Math.abs(heavy - Math.E / (Math.E + 2))).toBeLessThan(0.15)
  expect(Math.max(...ids)).toBeGreaterThan(145_000)
  expect(Math.min(...ids)).toBeLessThan(5_000)
})

test('ties at the border of top-k stay together; top-p 1e-9 and top-k 1 are the likeliest token', () => {
  const tied = [3, 1, 3, 1, 1]
  expect(new Set(samplingRow(tied, { topK: 3 }, 500).ids)).toEqual(new Set([0, 1, 2, 3, 4]))
  expect(new Set(samplingRow(logits, { topK: 1 }, 50).ids)).toEqual(new Set([logits.indexOf(Math.max(...logits))]))
  expect(new Set(samplingRow(logits, { topP: 1e-9 }, 50).ids)).toEqual(new Set([logits.indexOf(Math.max(...logits))]))
  expect(samplingRow(logits, { topK: 1 }, 1).processed[0]).toBe(0)
})

test('logits that are not finite, and bans that leave nothing, give no token', () => {
  expect(samplingRow([1, Number.NaN, 2], {}, 1).ids[0]).toBe(-1)
  expect(samplingRow([1, Number.POSITIVE_INFINITY, 2], {}, 1).ids[0]).toBe(-1)
  expect(samplingRow([1, 2, 3], {}, 1, [0, 1, 2]).ids[0]).toBe(-1)
  expect(samplingRow([Number.NEGATIVE_INFINITY, 2, Number.NEGATIVE_INFINITY], {}, 9).ids).toEqual(
    new Int32Array(9).fill(1),
  )
})

test('arguments that do not fit are refused', () => {
  const call = (change: Partial<Record<'settings' | 'targetIds' | 'offsets' | 'forbidden', Tensor>>, top = -1) =>
    scope(() =>
      callOperator(
        'whetstone::sample',
        Tensor.from(new Float32Array(8), { shape: [2, 4] }),
        change.settings ?? Tensor.from(Float64Array.of(1, -1, 1, 0, 1, -1, 1, 0), { shape: [2, 4] }),
        Tensor.from(new Int32Array(6)),
        change.targetIds ?? Tensor.from(Int32Array.of(-1, -1)),
        change.offsets ?? Tensor.from(Int32Array.of(0, 0, 0)),
        change.forbidden ?? Tensor.from(new Int32Array(0)),
        top,
      ),
    )
  expect(() => call({})).not.toThrow()
  expect(() => call({ targetIds: Tensor.from(Int32Array.of(4, -1)) })).toThrow(/vocabulary/)
  expect(() => call({ offsets: Tensor.from(Int32Array.of(0, 1, 2)) })).toThrow(/forbidden_offsets/)
  expect(() =>
    call({ offsets: Tensor.from(Int32Array.of(0, 0, 1)), forbidden: Tensor.from(Int32Array.of(9)) }),
  ).toThrow(/forbidden_ids/)
  expect(() => call({ settings: Tensor.from(new Float64Array(12), { shape: [3, 4] }) })).toThrow(/more rows|streams/)
  expect(() => call({}, 5)).toThrow(/vocabulary/)
})
