import { readFileSync } from 'node:fs'
import type { AdvantageEstimator, KlEstimator, ResolvedAdvantageOptions } from '../../src/maths/index.js'

/** The part of the recorded numbers that belongs to experience; an independent implementation computed them in float64. */
export interface Golden {
  readonly estimators: readonly {
    estimator: AdvantageEstimator
    options: Omit<ResolvedAdvantageOptions, 'advantageEstimator' | 'nSamplesPerPrompt'> & { nSamplesPerPrompt: number }
    rewards: number[]
    logprobs: number[][]
    refLogprobs: number[][]
    values: number[][]
    tokenRewards: number[][]
    advantages: number[][]
    returns: number[][]
  }[]
  readonly klLosses: readonly {
    estimator: KlEstimator
    aggregation: string
    logprobs: number[][]
    refLogprobs: number[][]
    value: number
  }[]
  readonly runningMoments: readonly { batch: number[]; mean: number; std: number; count: number }[]
  readonly adaptiveKl: {
    initial: number
    steps: { kl: number; nSteps: number; target: number; horizon: number; coef: number }[]
  }
  readonly dynamicSampling: readonly {
    needed: number
    rounds: number[][][]
    kept: [number, number][]
    roundsUsed: number
    droppedEqual: number
  }[]
}

export const golden: Golden = JSON.parse(readFileSync(new URL('../fixtures/rl-maths.json', import.meta.url), 'utf8'))
