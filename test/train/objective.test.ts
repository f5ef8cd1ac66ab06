import { expect, it } from 'vitest'
import {
  alteredTokens,
  importanceProblems,
  klEstimators,
  klLoss,
  ktoTotals,
  losses,
  type ObjectiveSample,
  objective,
  policyLoss,
  tokenTotals,
} from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { randomCall } from '../support/random-calls.js'

const samples = randomCall('ppo', 7).samples as unknown as readonly ObjectiveSample[]
const lengths = samples.map(({ advantages }) => advantages.length)
const totals = tokenTotals(lengths)

it('adds up its terms, each with its coefficient', () => {
  const result = objective({
    samples,
    totals,
    options: {
      loss: 'ppo',
      klCoef: 0.1,
      klEstimator: 'k2',
      entropyCoef: 0.02,
      aggregation: 'token-mean',
    },
  })
  const policy = policyLoss({ samples, totals, options: { loss: 'ppo', aggregation: 'token-mean' } })
  const kl = klLoss({
    samples: samples as never,
    totals,
    options: { klEstimator: 'k2', aggregation: 'token-mean' },
  })
  const entropy = samples.flatMap(({ entropies }) => [...(entropies as Float64Array)]).reduce((a, b) => a + b, 0)
  expectClose([result.policy, result.kl!], [policy.value, kl.value])
  expectClose([result.entropy!], [entropy / totals.tokens])
  const value = policy.value + 0.1 * kl.value - (0.02 * entropy) / totals.tokens
  expectClose([result.value], [value])
  for (const [i, { logprobs, entropies }] of result.gradients.entries()) {
    const expected = policy.gradients[i]!.logprobs.map((g, t) => g + 0.1 * kl.gradients[i]!.logprobs[t]!)
    expectClose(logprobs, expected)
    expectClose(entropies!, new Float64Array(lengths[i]!).fill(-0.02 / totals.tokens))
  }
})

it('measures KL and entropy where they cost nothing, and gives no gradient for entropies then', () => {
  const { value, policy, kl, entropy, gradients } = objective({ samples, totals, options: { loss: 'gspo' } })
  expect(value).toBe(policy)
  expect(kl).toBeGreaterThan(0)
  expect(entropy).toBeGreaterThan(0)
  expect(gradients.some(gradient => 'entropies' in gradient)).toBe(false)
  const bare = samples.map(({ logprobs, advantages }) => ({ logprobs, advantages }))
  const without = objective({ samples: bare, totals, options: { loss: 'gspo' } })
  expect(without).toMatchObject({ kl: undefined, entropy: undefined })
})

it.each(['ppo', 'gspo', 'gmpo', 'cispo', 'cpg'] as const)(
  '%s: without old log-probabilities the ratio is exactly 1',
  loss => {
    const bare = samples.map(({ logprobs, advantages }) => ({ logprobs, advantages }))
    const same = samples.map(({ logprobs, advantages }) => ({ logprobs, advantages, oldLogprobs: logprobs }))
    const result = policyLoss({ samples: bare, totals, options: { loss } })
    expect(result).toEqual(policyLoss({ samples: same, totals, options: { loss } }))
    expect(result.statistics).toMatchObject({
      ratioMean: 1,
      ratioMax: 1,
      approxKl: 0,
      clipLowShare: 0,
      clipHighShare: 0,
    })
  },
)

it('filtered tokens have no policy loss and stay in the denominators; KL and entropy keep all', () => {
  const four: ObjectiveSample[] = [
    { logprobs: [-1, -1, -1, -1], advantages: [1, 2, 3, 4], entropies: [0, 3, 1, 2], refLogprobs: [-2, -2, -2, -2] },
  ]
  const result = objective({
    samples: four,
    totals: tokenTotals([4]),
    options: { loss: 'ppo', highEntropyTokenRatio: 0.5, klCoef: 1, klEstimator: 'k1', entropyCoef: 1 },
  })
  expect(result.policy).toBe(-(2 + 4) / 4)
  expect(result.kl).toBe(1)
  expect([...result.gradients[0]!.logprobs]).toEqual([0.25, -0.5 + 0.25, 0.25, -1 + 0.25])
  expect([...result.gradients[0]!.entropies!]).toEqual([-0.25, -0.25, -0.25, -0.25])
  expect(result.statistics).toMatchObject({ tokens: 4, keptTokens: 2 })
  const { entropies: _, ...rest } = four[0]!
  const masked = policyLoss({
    samples: [{ ...rest, lossMask: [0, 1, 0, 1] }],
    totals: tokenTotals([4]),
    options: { loss: 'ppo' },
  })
  expect(masked.value).toBe(result.policy)
})

it.each(['gspo', 'gmpo'] as const)('%s: every token of a response has its loss', loss => {
  const { advantages: _, ...one } = samples[0]!
  const response = { ...one, advantages: one.logprobs, altered: undefined }
  const length = one.logprobs.length
  const of = (options: object, more: object = {}) =>
    policyLoss({
      samples: [{ ...response, ...more }],
      totals: tokenTotals([length]),
      options: { loss, clipLow: 0.9, clipHigh: 9, ...options },
    })
  const plain = of({})
  expectClose([of({ aggregation: 'token-mean' }).value], [plain.value])
  expectClose([of({ aggregation: 'seq-mean-token-sum' }).value], [plain.value * length])
  expectClose([of({ aggregation: 'seq-mean-token-sum-norm', maxNewTokens: 20 }).value], [(plain.value * length) / 20])
  const first = of({}, { lossMask: Uint8Array.from({ length }, (_, t) => Number(t === 0)) })
  expectClose([first.value], [plain.value / length])
  expectClose(
    first.gradients[0]!.logprobs,
    plain.gradients[0]!.logprobs.map(g => g / length),
  )
})

it('altered tokens have importance weight 1, and are counted', () => {
  const { statistics, gradients } = policyLoss({
    samples: [
      {
        logprobs: [0, 0, 0, 0],
        oldLogprobs: [0, 0, 0, 0],
        engineLogprobs: [-5, 5, -5, Math.log(2)],
        advantages: [1, 1, 1, 1],
        altered: alteredTokens({ length: 4, temperature: 1, firstTemperature: 10, minNewTokens: 2 }),
      },
    ],
    totals: tokenTotals([4]),
    options: { loss: 'ppo', tisCap: 4, aggregation: 'seq-mean-token-sum' },
  })
  expect([...gradients[0]!.logprobs]).toEqual([-1, -1, -4, -0.5])
  expect(statistics).toMatchObject({ importanceMean: 6.5 / 4, importanceCappedShare: 1 / 4, importanceAltered: 2 })
})

it('which tokens a sampler was told to change', () => {
  const altered = (options: object) => [...alteredTokens({ length: 4, temperature: 1, minNewTokens: 0, ...options })]
  expect(altered({})).toEqual([0, 0, 0, 0])
  expect(altered({ firstTemperature: 1 })).toEqual([0, 0, 0, 0])
  expect(altered({ firstTemperature: 2 })).toEqual([1, 0, 0, 0])
  expect(altered({ minNewTokens: 2 })).toEqual([1, 1, 0, 0])
  expect(altered({ minNewTokens: 9 })).toEqual([1, 1, 1, 1])
})

it('importance weights are refused where they would mean something else', () => {
  expect(importanceProblems({ logprobs: ['raw', 'processed'], topP: 1, topK: -1, minP: 0 })).toEqual([])
  expect(importanceProblems({ logprobs: ['processed'], topP: 0.9 })[0]).toContain('topP is 0.9')
  expect(importanceProblems({ logprobs: ['processed'], topK: 50 })[0]).toContain('topK is 50')
  expect(importanceProblems({ logprobs: ['processed'], minP: 0.1 })[0]).toContain('minP is 0.1')
  expect(importanceProblems({ logprobs: ['raw'] })[0]).toContain('this engine reports raw')
  expect(importanceProblems({ logprobs: [] })[0]).toContain('reports none')
})

it.each(['gspo', 'gmpo'] as const)('%s: of a filtered response only the kept tokens count as clipped', loss => {
  const of = (d: number, advantage: number) =>
    policyLoss({
      samples: [
        { logprobs: [d, d, d], oldLogprobs: [0, 0, 0], advantages: Array(3).fill(advantage), lossMask: [0, 1, 1] },
        { logprobs: [0], oldLogprobs: [0], advantages: [1] },
      ],
      totals: tokenTotals([3, 1]),
      options: { loss },
    }).statistics
  expect(of(-1, -1)).toMatchObject({ keptTokens: 3, clipLowShare: 2 / 3, clipHighShare: 0 })
  expect(of(1, 1)).toMatchObject({ keptTokens: 3, clipLowShare: 0, clipHighShare: 2 / 3 })
})

it('kto compares with z0, which is constant', () => {
  const samples = [
    { policy: -7, ref: -10, desirable: true },
    { policy: -7, ref: -10, desirable: false },
  ]
  const { value, gradients, statistics } = losses.kto.compute({
    samples,
    totals: ktoTotals({ responses: 2, mismatched: [{ policy: -1, ref: -3 }] }),
    options: { beta: 0.5, desirableWeight: 2, undesirableWeight: 4 },
  })
  // d = 3 and z0 = 2: sigmoid(±0.5 (3 - 2)).
  const s = 1 / (1 + Math.exp(-0.5))
  expectClose([value], [(2 * (1 - s) + 4 * s) / 2])
  expectClose([gradients[0]!.policy, gradients[1]!.policy], [(-2 * 0.5 * s * (1 - s)) / 2, (4 * 0.5 * s * (1 - s)) / 2])
  const counted = { desirable: 1, undesirable: 1, desirableRewardMean: 1.5, undesirableRewardMean: 1.5 }
  expect(statistics).toEqual(counted)
})

it('k3 and its gradient keep their digits near 0', () => {
  for (const klEstimator of klEstimators) {
    const { value, gradients } = klLoss({
      samples: [{ logprobs: [1e-9], refLogprobs: [0] }],
      totals: tokenTotals([1]),
      options: { klEstimator },
    })
    const expected = klEstimator === 'k1' ? [1e-9, 1] : [5e-19, 1e-9]
    expect(value / expected[0]!).toBeCloseTo(1, 6)
    expect(gradients[0]!.logprobs[0]! / expected[1]!).toBeCloseTo(1, 6)
  }
})
