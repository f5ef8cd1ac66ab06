/** The next token by the kernels of a device against the CPU's own operator: the same tokens, log-probabilities and ranks. */
import { describe, expect, test } from 'vitest'
import { headLinearKernel, type SampleOptions, sampleKernel, samplePlanes } from '../../src/kernels/index.js'
import { callOperator, linear, manualSeed, randn, synchronize, Tensor } from '../../src/tensor/index.js'
import { card, describeCuda, describeHopper, device } from '../support/device.js'
import { numbers } from '../support/generation.js'

manualSeed(11)
const up = (values: Int32Array | Float32Array): Tensor => Tensor.from(values, { device })

const kinds = ['plain', 'temperature', 'forbidden', 'filtered', 'targetIds', 'broken'] as const
type Kind = (typeof kinds)[number]
/** How many of the likeliest tokens are asked for. */
const tops: Record<Kind, number> = { plain: 5, temperature: -1, forbidden: -1, filtered: 2, targetIds: 0, broken: 1 }
const sizes = [
  { rows: 64, vocabSize: 320, spread: 2 },
  { rows: 64, vocabSize: 32001, spread: 3 },
  { rows: 256, vocabSize: 151936, spread: 2 },
  { rows: 16, vocabSize: 151936, spread: 0.01 },
  { rows: 64, vocabSize: 151936, spread: 12 },
  { rows: 64, vocabSize: 1000, spread: 12 },
]

/** float64 `[rows, 4]`: temperature, topK, topP, minP. */
function settingsOf(kind: Kind, rows: number, next: (below: number) => number): Float64Array {
  const filtered = kind === 'filtered'
  return Float64Array.from({ length: rows * 4 }, (_, i) => {
    const row = i >> 2
    if (i % 4 === 0) return kind === 'plain' || kind === 'targetIds' ? 1 : row % 5 === 0 ? 0 : [1, 0.7, 1.3][row % 3]!
    if (i % 4 === 1) return filtered && row % 2 ? 1 + next(60) : -1
    if (i % 4 === 2) return filtered && row % 3 ? 0.3 + next(60) / 100 : 1
    return filtered && row % 4 === 0 ? 0.05 : 0
  })
}

function makeLogits(kind: Kind, { rows, vocabSize, spread }: (typeof sizes)[number], dtype: 'bfloat16' | 'float16') {
  const logits = randn([rows, vocabSize], { device }).mul(spread).cast(dtype)
  if (kind === 'broken') {
    logits.select(0, 1).select(0, 5).fill_(Number.NaN)
    logits
      .select(0, 2)
      .select(0, vocabSize - 1)
      .fill_(Number.POSITIVE_INFINITY)
    logits.select(0, 3).fill_(Number.NEGATIVE_INFINITY)
    logits.select(0, 4).select(0, 7).fill_(Number.NEGATIVE_INFINITY)
  }
  // The best ones side by side, which is where the least is looked for last.
  if (kind === 'filtered') for (const row of [9, 11]) logits.select(0, row).narrow(0, 70, 200).add_(12)
  return logits
}

describeCuda('sampling kernels', () => {
  const next = numbers(3)
  const each = (['bfloat16', 'float16'] as const).flatMap(dtype =>
    sizes.flatMap(size => kinds.map(kind => ({ dtype, kind, ...size }))),
  )
  test.each(each)('$dtype, $rows rows of $vocabSize, spread $spread, $kind', async ({ dtype, kind, ...size }) => {
    const { rows, vocabSize } = size
    const logits = makeLogits(kind, size, dtype)
    const settings = settingsOf(kind, rows, next)
    const streams = Int32Array.from({ length: rows * 3 }, (_, i) => (i % 3 === 2 ? next(1000) : next(2 ** 32) | 0))
    const targetIds = Int32Array.from({ length: rows }, () => (kind === 'targetIds' ? next(vocabSize) : -1))
    const offsets = new Int32Array(rows + 1)
    const forbidden: number[] = []
    // Among them the likeliest, which matters.
    const best = logits.argmax(1).to('cpu', 'int32').toArray() as Int32Array
    for (let row = 0; row < rows; row++) {
      const some = kind === 'forbidden' || (kind === 'filtered' && row % 7 === 0)
      const ids = some ? [best[row]!, next(vocabSize), next(vocabSize)] : []
      // Some as many as a vocabulary has that are not text, side by side.
      if (ids.length > 0 && row % 14 === 7) ids.push(...Array.from({ length: 300 }, (_, i) => i))
      forbidden.push(...ids.sort((a, b) => a - b))
      offsets[row + 1] = forbidden.length
    }
    const top = tops[kind]
    const [ids, logprobs, likeliest, likeliestLogprobs] = callOperator(
      'whetstone::sample',
      logits.to('cpu', 'float32'),
      Tensor.from(settings, { shape: [rows, 4] }),
      Tensor.from(streams),
      Tensor.from(targetIds),
      Tensor.from(offsets),
      Tensor.from(Int32Array.from(forbidden)),
      top,
    ) as Tensor[]
    const [expected, bothLogprobs] = [ids!.toArray() as Int32Array, logprobs!.toArray() as Float32Array]
    const [expectedTop, expectedTopLogprobs] = [likeliest!.toArray(), likeliestLogprobs!.toArray()]

    const results = Tensor.empty([samplePlanes(top), rows], { dtype: 'int32', device }).fill_(-7)
    const sampled = {
      count: rows,
      positions: up(Int32Array.from({ length: rows }, (_, i) => streams[3 * i + 2]!)),
      settings: up(Float32Array.from(settings)),
      keys: up(Int32Array.from({ length: 2 * rows }, (_, i) => streams[(i >> 1) * 3 + (i & 1)]!)),
      targetIds: up(targetIds),
      forbiddenOffsets: up(offsets),
      forbidden: up(Int32Array.from(forbidden.length ? forbidden : [0])),
    }
    const options = { filtered: kind === 'filtered', steps: undefined, top }
    sampleKernel(dtype, vocabSize)(logits, sampled, results, options)
    await synchronize()
    const found = results.to('cpu').toArray() as Int32Array
    const floats = new Float32Array(found.buffer, found.byteOffset, found.length)

    let [others, worst, otherRanks] = [0, 0, 0]
    for (let row = 0; row < rows; row++) {
      if (found[row] !== expected[row]) others++
      else if (found[row]! >= 0) {
        for (const plane of [1, 2]) {
          const [mine, theirs] = [floats[plane * rows + row]!, bothLogprobs[(plane - 1) * rows + row]!]
          const off = Object.is(mine, theirs) ? 0 : Math.abs(mine - theirs)
          worst = Math.max(worst, Number.isNaN(off) ? Number.POSITIVE_INFINITY : off)
        }
        for (let k = 0; k <= top; k++) {
          const at = row * (top + 1) + k
          if (found[(3 + k) * rows + row] !== Number(expectedTop[at])) otherRanks++
          if (k > 0)
            worst = Math.max(worst, Math.abs(floats[(3 + top + k) * rows + row]! - Number(expectedTopLogprobs[at])))
        }
      }
    }
    // A number that falls onto the border between two tokens may be rounded to either side.
    expect(others, 'other tokens').toBeLessThanOrEqual(kind === 'broken' ? 0 : rows * 0.02)
    expect(worst, 'log-probabilities').toBeLessThan(2e-5)
    expect(otherRanks, 'ranks and likeliest tokens').toBe(0)
  })
})

/**
 * Logits and their sums from one kernel: the logits are the product's, and tokens drawn by these sums are those drawn by the
 * sums that the sampling kernels make themselves. Some rows are greedy, some have tokens that cannot be drawn, some are not
 * there, and one is not finite.
 */
describeHopper('logits with their sums', () => {
  const next = numbers(4)
  test.each([
    [1, 320, 64],
    [64, 320, 128],
    [3, 32000, 72],
    [300, 1000, 64],
    [64, 151936, 896],
    [256, 151936, 896],
  ])('of %i rows of %i, %i wide', async (rows, vocabSize, hidden) => {
    const kernel = headLinearKernel(card!.multiprocessors)
    const all = Array.from({ length: rows }, (_, i) => i)
    const broken = rows > 8 ? 7 : -1
    const x = randn([rows, hidden], { device }).cast('bfloat16')
    const weight = randn([vocabSize, hidden], { device }).mul(0.1).cast('bfloat16')
    if (broken >= 0) x.select(0, broken).fill_(Number.NaN)
    const exact = linear(x, weight)
    const best = exact.argmax(1).to('cpu', 'int32').toArray() as Int32Array
    const forbidden: number[] = []
    const offsets = new Int32Array(rows + 1)
    for (const row of all) {
      if (row % 3 === 1) forbidden.push(...[best[row]!, next(vocabSize)].sort((a, b) => a - b))
      offsets[row + 1] = forbidden.length
    }
    const temperature = (row: number): number => [1, 0.7, 1, 0][row % 4]!
    const settingsFrom = (setting: (row: number, which: number) => number): Tensor =>
      up(Float32Array.from({ length: 4 * rows }, (_, i) => setting(i >> 2, i % 4)))
    const sampled = {
      count: rows,
      positions: up(Int32Array.from(all, i => (i % 11 === 5 ? -1 : next(1000)))),
      settings: settingsFrom((row, which) => [temperature(row), -1, 1, 0][which]!),
      keys: up(Int32Array.from({ length: 2 * rows }, () => next(2 ** 32) | 0)),
      targetIds: up(new Int32Array(rows).fill(-1)),
      forbiddenOffsets: up(offsets),
      forbidden: up(Int32Array.from([...forbidden, 0])),
    }
    const { logits, sums } = kernel(x, weight, sampled)
    const there = all.filter(i => i % 11 !== 5 && i !== broken)
    const [a, b] = [logits, exact].map(t => t.indexSelect(0, up(Int32Array.from(there))).cast('float32'))
    expect(a!.sub(b!).abs().amax().item() / b!.abs().amax().item(), 'logits').toBeLessThan(0.01)

    const sample = sampleKernel('bfloat16', vocabSize)
    const draw = async (options: Partial<SampleOptions & { known: Tensor }>, settings = sampled.settings) => {
      const results = Tensor.empty([3, rows], { dtype: 'int32', device }).fill_(-7)
      sample(logits, { ...sampled, settings }, results, { filtered: false, steps: undefined, top: -1, ...options })
      await synchronize()
      return results.to('cpu').toArray() as Int32Array
    }
    const compare = (how: string, found: Int32Array, expected: Int32Array, compared: readonly number[]): void => {
      const [floats, wanted] = [found, expected].map(
        array => new Float32Array(array.buffer, array.byteOffset, array.length),
      ) as [Float32Array, Float32Array]
      const others = compared.filter(i => found[i] !== expected[i])
      expect(others.length, `${how}: other tokens`).toBeLessThanOrEqual(rows * 0.01)
      const distances = compared
        .filter(i => !others.includes(i) && there.includes(i))
        .flatMap(i => [rows + i, 2 * rows + i].map(at => Math.abs(floats[at]! - wanted[at]!)))
      expect(Math.max(0, ...distances), `${how}: log-probabilities`).toBeLessThan(2e-5)
    }
    const [found, expected] = [await draw({ known: sums }), await draw({})]
    compare('sums of the product', found, expected, all)
    // Rows without filters are drawn as if none had any.
    const filters = settingsFrom(
      (row, which) => [temperature(row), row % 4 === 0 ? 50 : -1, row % 4 === 1 ? 0.9 : 1, 0][which]!,
    )
    const own = await draw({ filtered: true }, filters)
    const unfiltered = all.filter(i => i % 4 > 1)
    compare('rows without filters', own, expected, unfiltered)
    compare('filtered', await draw({ filtered: true, known: sums }, filters), own, all)
    if (broken >= 0) expect(found[broken]).toBe(-1)
  })
})

describe('without a device', () => {
  test('results have a plane for each number asked for', () => {
    expect([-1, 0, 5].map(samplePlanes)).toEqual([3, 4, 14])
  })
})
