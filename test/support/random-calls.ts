/** Random calls of every loss, for tests that hold for all of them. A kind of loss without a maker here is a type error. */
import {
  aggregations,
  ktoTotals,
  type LossKind,
  type LossName,
  losses,
  policyLossNames,
  tokenTotals,
} from '../../src/maths/index.js'

export interface Call {
  readonly samples: readonly Record<string, unknown>[]
  readonly totals: object
  readonly options: Record<string, unknown>
}

/** Numbers that a seed decides, in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32
  }
}

class Draw {
  readonly next: () => number
  constructor(seed: number) {
    this.next = randomNumbers(seed)
  }
  number(low: number, high: number): number {
    return low + (high - low) * this.next()
  }
  int(low: number, high: number): number {
    return Math.floor(this.number(low, high + 1))
  }
  oneOf<T>(values: readonly T[]): T {
    return values[this.int(0, values.length - 1)]!
  }
  array(length: number, one: () => number): Float64Array {
    return Float64Array.from({ length }, one)
  }
  /** Between 3 and 6 samples of 1 to 7 tokens. */
  samples(one: (length: number) => Record<string, unknown>): Record<string, unknown>[] {
    return Array.from({ length: this.int(3, 6) }, () => one(this.int(1, 7)))
  }
  aggregation(): Record<string, unknown> {
    return { aggregation: this.oneOf(aggregations), maxNewTokens: 9 }
  }
}

const lengthsOf = (samples: readonly Record<string, unknown>[], field: string) =>
  samples.map(sample => (sample[field] as Float64Array).length)

/** The bounds of the ratio that random samples stay away from: where a loss bends, its slope is not what a difference measures. */
const clips = { clipLow: 0.2, clipHigh: 0.3, dualClip: 2 }
const bends = [-0.2, 0.3, Math.log(0.8), Math.log(1.3), Math.log(2)]

function policySample(draw: Draw, length: number): Record<string, unknown> {
  const oldLogprobs = draw.array(length, () => draw.number(-3, -0.1))
  const level = draw.number(-0.6, 0.6)
  const logRatio = (): number => {
    const d = level + draw.number(-0.4, 0.4)
    return bends.some(bend => Math.abs(d - bend) < 1e-3) ? logRatio() : d
  }
  return {
    oldLogprobs,
    logprobs: oldLogprobs.map(old => old + logRatio()),
    engineLogprobs: oldLogprobs.map(old => old + draw.number(-1, 1)),
    refLogprobs: oldLogprobs.map(old => old + draw.number(-0.5, 0.5)),
    advantages: draw.array(length, () => draw.number(-2, 2)),
    entropies: draw.array(length, () => draw.number(0, 2)),
    altered: Uint8Array.from({ length }, () => draw.int(0, 1)),
  }
}

function policyOptions(draw: Draw, name: string): Record<string, unknown> {
  const { clipLow, clipHigh, dualClip } = clips
  return {
    clipLow,
    clipHigh,
    ...(name === 'ppo' ? { dualClip: draw.oneOf([null, dualClip]) } : {}),
    ...(name === 'cpg' ? { driftCoef: draw.oneOf([0, 0.2]) } : {}),
    tisCap: draw.oneOf([null, 1.5]),
    highEntropyTokenRatio: draw.oneOf([0, 0.5]),
    ...draw.aggregation(),
  }
}

function policyCall(draw: Draw, name: string): Call {
  const samples = draw.samples(length => policySample(draw, length))
  return { samples, totals: tokenTotals(lengthsOf(samples, 'logprobs')), options: policyOptions(draw, name) }
}

const makers: Readonly<Record<LossKind, (draw: Draw, name: LossName) => Call>> = {
  policy: policyCall,
  kl: (draw, name) => ({
    ...policyCall(draw, name),
    options: { klEstimator: draw.oneOf(['k1', 'k2', 'k3']), ...draw.aggregation() },
  }),
  entropy: (draw, name) => ({ ...policyCall(draw, name), options: draw.aggregation() }),
  value: draw => {
    const samples = draw.samples(length => {
      const oldValues = draw.array(length, () => draw.number(-2, 2))
      const values = oldValues.map(old => old + draw.oneOf([-1, 1]) * draw.oneOf([0.1, 0.5]) * draw.number(0.8, 1.2))
      return { oldValues, values, returns: draw.array(length, () => draw.number(-2, 2)) }
    })
    const options = { valueClip: draw.oneOf([null, 0.2]), ...draw.aggregation() }
    return { samples, totals: tokenTotals(lengthsOf(samples, 'values')), options }
  },
  'reward-model': draw => {
    const samples = draw.samples(() => ({
      chosen: draw.number(-3, 3),
      rejected: draw.number(-3, 3),
      margin: draw.oneOf([undefined, 1]),
    }))
    const contrastive = draw.oneOf([{}, { rankingWeight: 0.5, contrastiveWeight: 0.7, temperature: 1.5 }])
    const options = { margin: 0.3, centerCoef: draw.oneOf([0, 0.1]), ...contrastive }
    return { samples, totals: { pairs: samples.length }, options }
  },
  preference: (draw, name) => {
    const samples = draw.samples(() => ({
      policyChosen: draw.number(-20, -10),
      policyRejected: draw.number(-20, -10),
      refChosen: draw.number(-20, -10),
      refRejected: draw.number(-20, -10),
      chosenTokens: draw.int(1, 30),
      rejectedTokens: draw.int(1, 30),
    }))
    const own = name === 'ipo' ? { ipoLogprobs: draw.oneOf(['mean', 'sum']) } : { labelSmoothing: 0.2 }
    const options = { beta: draw.number(0.05, 0.5), ...own }
    return { samples, totals: { pairs: samples.length }, options }
  },
  labelled: draw => {
    const one = () => ({ policy: draw.number(-20, -10), ref: draw.number(-20, -10), desirable: draw.int(0, 1) === 1 })
    const samples = draw.samples(one)
    return {
      samples,
      totals: ktoTotals({ responses: samples.length, mismatched: samples.map(one) }),
      options: { beta: draw.number(0.05, 0.5), desirableWeight: 1.2, undesirableWeight: 0.7 },
    }
  },
  sft: draw => {
    const samples = draw.samples(length => ({ logprobs: draw.array(length, () => draw.number(-3, 0)) }))
    return { samples, totals: tokenTotals(lengthsOf(samples, 'logprobs')), options: {} }
  },
  objective: draw => {
    const loss = draw.oneOf(policyLossNames)
    const call = policyCall(draw, loss)
    return {
      ...call,
      options: { ...call.options, loss, klCoef: 0.1, klEstimator: draw.oneOf(['k1', 'k2', 'k3']), entropyCoef: 0.05 },
    }
  },
}

export function randomCall(name: LossName, seed: number): Call {
  return makers[losses[name].kind](new Draw(seed), name)
}

export const lossNames = Object.keys(losses) as [LossName, ...LossName[]]
