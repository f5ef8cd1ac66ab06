import { describe, expect, it } from 'vitest'
import {
  ktoTotals,
  type LossEntry,
  type LossName,
  losses,
  objective,
  policyLoss,
  preferenceLoss,
  sftLoss,
  tokenTotals,
  valueLoss,
} from '../../src/maths/index.js'
import { lossNames, randomCall } from '../support/random-calls.js'

const run = (name: LossName, call: object) => (losses[name] as LossEntry).compute(call as never)

describe('options', () => {
  it.each<[LossName, Record<string, unknown>, RegExp]>([
    ['ppo', { clipLow: -0.1 }, /^ppo: clipLow: .*>=0/],
    ['ppo', { clipLow: 1.1 }, /^ppo: clipLow: .*<=1/],
    ['ppo', { clipHigh: -1 }, /^ppo: clipHigh: /],
    ['ppo', { clipHigh: Number.NaN }, /^ppo: clipHigh: /],
    ['ppo', { clipHigh: Number.POSITIVE_INFINITY }, /^ppo: clipHigh: /],
    ['ppo', { dualClip: 1 }, /^ppo: dualClip: .*>1/],
    ['ppo', { tisCap: 0 }, /^ppo: tisCap: .*>0/],
    ['ppo', { highEntropyTokenRatio: 1.5 }, /^ppo: highEntropyTokenRatio: .*<=1/],
    ['ppo', { aggregation: 'mean' }, /^ppo: aggregation: .*"token-mean"/],
    ['ppo', { aggregation: 'seq-mean-token-sum-norm', maxNewTokens: undefined }, /maxNewTokens: missing; seq-mean/],
    ['ppo', { maxNewTokens: 0 }, /^ppo: maxNewTokens: /],
    ['ppo', { clip_low: 0.1 }, /no option "clip_low"; did you mean clipLow\?/],
    ['gspo', { dualClip: 3 }, /^gspo: there is no option "dualClip"/],
    ['gmpo', { clipLow: -1 }, /^gmpo: clipLow: /],
    ['cpg', { clipLow: 1 }, /^cpg: clipLow: .*<1/],
    ['cpg', { driftCoef: -1 }, /^cpg: driftCoef: /],
    ['kl', { klEstimator: 'k4' }, /^kl: klEstimator: .*"k3"/],
    ['value', { valueClip: 0 }, /^value: valueClip: .*>0/],
    ['reward-model', { margin: -1 }, /^reward-model: margin: /],
    ['reward-model', { centerCoef: -1 }, /^reward-model: centerCoef: /],
    ['dpo', { beta: 0 }, /^dpo: beta: .*>0/],
    ['dpo', { labelSmoothing: 0.5 }, /^dpo: labelSmoothing: .*<0.5/],
    ['dpo', { labelSmoothing: -0.1 }, /^dpo: labelSmoothing: /],
    ['cdpo', { labelSmoothing: 0 }, /^cdpo: labelSmoothing: .*>0/],
    ['cdpo', { labelSmoothing: undefined }, /^cdpo: labelSmoothing: missing; assumed share of pairs/],
    ['ipo', { labelSmoothing: 0.1 }, /^ipo: there is no option "labelSmoothing"/],
    ['ipo', { ipoLogprobs: 'max' }, /^ipo: ipoLogprobs: .*"mean"/],
    ['kto', { undesirableWeight: -1 }, /^kto: undesirableWeight: /],
    ['sft', { beta: 1 }, /^sft: there is no option "beta"/],
    ['objective', { entropyCoef: -1 }, /entropyCoef: /],
    ['objective', { klCoef: -1 }, /klCoef: /],
    ['objective', { loss: 'trpo' }, /^there is no policy loss "trpo"; there are ppo, gspo/],
  ])('%s %o', (name, options, message) => {
    const call = randomCall(name, 1)
    const attempt = () => run(name, { ...call, options: { ...call.options, ...options } })
    expect(attempt).toThrow(RangeError)
    expect(attempt).toThrow(message)
  })

  it('names that are none', () => {
    const totals = { sequences: 0, tokens: 0, pairs: 0 }
    expect(() => policyLoss({ samples: [], totals, options: { loss: 'trpo' as 'ppo' } })).toThrow(/policy loss "trpo"/)
    expect(() => preferenceLoss({ samples: [], totals, options: { loss: 'orpo' as 'dpo' } })).toThrow(/"orpo"; .*ipo/)
  })
})

describe('numbers', () => {
  it.each(lossNames)('%s: what is not finite is named by sample, field and token', name => {
    const call = randomCall(name, 3)
    const result = run(name, call)
    const last = call.samples.length - 1
    for (const field of Object.keys(result.gradients[last]!))
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const sample = call.samples[last]!
        const given = sample[field] as number | Float64Array
        const token = typeof given === 'number' ? '' : ` at token ${given.length - 1}`
        const broken = typeof given === 'number' ? bad : given.with(given.length - 1, bad)
        const attempt = (more: object) =>
          run(name, { ...call, samples: [...call.samples.slice(0, last), { ...sample, [field]: broken, ...more }] })
        expect(() => attempt({})).toThrow(RangeError)
        expect(() => attempt({})).toThrow(new RegExp(`^sample ${last}: ${field}: .*got ${bad}${token}$`))
        expect(() => attempt({ name: 'p3#1' })).toThrow(/^sample p3#1: /)
      }
  })

  const totals = tokenTotals([2])
  const good = { logprobs: [-1, -1], oldLogprobs: [-1, -1], advantages: [1, -1] }

  it('an overflow of finite numbers is named as well', () => {
    const samples = [{ ...good, logprobs: [-1, 999] }]
    const attempt = (loss: 'ppo' | 'gspo') => () =>
      policyLoss({ samples: samples.map(one => ({ ...one, advantages: [-1, -1] })), totals, options: { loss } })
    expect(attempt('ppo')).toThrow(/^sample 0: the gradient is Infinity at token 1$/)
    // A ratio beyond a bound costs what the bound does.
    const { value } = policyLoss({ samples: [{ ...good, logprobs: [999, -1] }], totals, options: { loss: 'ppo' } })
    expect(value).toBeCloseTo((-1.2 + 1) / 2, 12)
    expect(() =>
      valueLoss({
        samples: [{ values: [1e200], returns: [0] }],
        totals: tokenTotals([1]),
        options: { valueClip: null },
      }),
    ).toThrow(/^sample 0: the loss is Infinity$/)
    const huge = {
      policyChosen: 1e200,
      policyRejected: 0,
      refChosen: 0,
      refRejected: 0,
      chosenTokens: 1,
      rejectedTokens: 1,
    }
    expect(() => preferenceLoss({ samples: [huge], totals: { pairs: 1 }, options: { loss: 'ipo' } })).toThrow(
      /^sample 0: /,
    )
  })

  it('means per token need the number of tokens', () => {
    const pair = { policyChosen: -1, policyRejected: -2, refChosen: -1, refRejected: -1, chosenTokens: 2 }
    const of = (rest: object, options: object = {}) =>
      preferenceLoss({ samples: [{ ...pair, ...rest }], totals: { pairs: 1 }, options: { loss: 'ipo', ...options } })
    expect(() => of({})).toThrow('sample 0: rejectedTokens: missing; a mean over its tokens divides by it')
    expect(() => of({ rejectedTokens: 0 })).toThrow(
      'sample 0: rejectedTokens: expected an integer of at least 1, got 0',
    )
    expect(of({}, { ipoLogprobs: 'sum' }).value).toBe(16)
    expect(of({ rejectedTokens: 4 })).toMatchObject({
      value: 4.75 ** 2,
      gradients: [{ policyChosen: -4.75, policyRejected: 2.375 }],
    })
  })

  it('far from 0, sigmoids neither overflow nor lose their slope', () => {
    const of = (chosen: number) =>
      losses['reward-model'].compute({ samples: [{ chosen, rejected: 0 }], totals: { pairs: 1 }, options: {} })
    expect(of(-800)).toMatchObject({ value: 800, gradients: [{ chosen: -1, rejected: 1 }] })
    expect(of(800).value).toBeCloseTo(0, 12)
    expect(of(40).gradients[0]!.chosen).toBeCloseTo(-Math.exp(-40), 30)
  })

  it.each<[string, object, RegExp]>([
    ['another length', { advantages: [1] }, /^sample 0: advantages: expected 2 numbers, one per token, got 1$/],
    ['a mask of another length', { lossMask: [1] }, /^sample 0: lossMask: expected 2 flags, one per token, got 1$/],
    ['flags of another length', { altered: [1, 0, 1] }, /^sample 0: altered: expected 2 flags/],
    ['nothing', { logprobs: [], oldLogprobs: [], advantages: [] }, /^sample 0 has no tokens$/],
    ['a field missing', { advantages: undefined }, /^sample 0: advantages: missing/],
  ])('%s', (_, change, message) => {
    const attempt = () => policyLoss({ samples: [{ ...good, ...change }], totals, options: { loss: 'ppo' } })
    expect(attempt).toThrow(RangeError)
    expect(attempt).toThrow(message)
  })

  it('what an option needs', () => {
    const { oldLogprobs: _, ...bare } = good
    const of = (sample: object, options: object) => () =>
      objective({ samples: [sample as typeof good], totals, options: { loss: 'ppo', ...options } })
    expect(of({ ...bare, engineLogprobs: [-1, -1] }, { tisCap: 2 })).toThrow(/sample 0: oldLogprobs: missing/)
    expect(of(good, { tisCap: 2 })).toThrow(/sample 0: engineLogprobs: missing/)
    expect(of(good, { highEntropyTokenRatio: 0.5 })).toThrow(/sample 0: entropies: missing/)
    expect(of(good, { klCoef: 0.1 })).toThrow(/sample 0: refLogprobs: missing/)
    expect(of(good, { entropyCoef: 0.1 })).toThrow(/sample 0: entropies: missing/)
    expect(of({ ...good, lossMask: [1, 0], entropies: [1, 2] }, { highEntropyTokenRatio: 0.5 })).toThrow(
      /lossMask, and highEntropyTokenRatio 0.5 makes another/,
    )
    const values = { values: [1, 1], returns: [1, 1] }
    expect(() => valueLoss({ samples: [values], totals, options: {} })).toThrow(/sample 0: oldValues: missing/)
  })

  it('totals of less than the samples of the call', () => {
    const of = (totals: { sequences: number; tokens: number }) => () =>
      policyLoss({ samples: [good, good], totals, options: { loss: 'ppo' } })
    expect(of({ sequences: 1, tokens: 4 })).toThrow(/got 1 sequences, but these samples alone have 2/)
    expect(of({ sequences: 2, tokens: 3 })).toThrow(/got 3 tokens, but these/)
    expect(of({ sequences: 2, tokens: Number.NaN })).toThrow(/expected a number of tokens, got NaN/)
    const ptx = [{ logprobs: [-1] }]
    expect(() => sftLoss({ samples: ptx, totals: { tokens: 0 } })).toThrow(/got 0 trained tokens/)
    const response = { policy: -1, ref: -1, desirable: true }
    expect(() => losses.kto.compute({ samples: [response], totals: { responses: 1, z0: -1 }, options: {} })).toThrow(
      /z0 is 0 or more/,
    )
    expect(() => ktoTotals({ responses: 1, mismatched: [] })).toThrow(/the batch has none/)
    expect(() => ktoTotals({ responses: 1, mismatched: [{ policy: Number.NaN, ref: 0 }] })).toThrow(/sample 0: policy/)
  })

  it('a part without samples is nothing', () => {
    for (const name of lossNames) {
      const { value, gradients } = run(name, { ...randomCall(name, 5), samples: [] })
      expect([value, gradients]).toEqual([0, []])
    }
  })

  it('z0 of kto is a mean, and never negative', () => {
    expect(ktoTotals({ responses: 3, mismatched: [{ policy: -3, ref: -1 }] })).toEqual({ responses: 3, z0: 0 })
    expect(ktoTotals({ responses: 3, mismatched: [{ policy: -1, ref: -3 }] })).toEqual({ responses: 3, z0: 2 })
  })
})
