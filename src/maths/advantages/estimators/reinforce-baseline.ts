import { z } from 'zod'
import { defineEstimator, discountedReturns } from '../define-estimator.js'
import { minusMean } from './baseline.js'

export const reinforceBaseline = defineEstimator({
  name: 'reinforce_baseline',
  description: 'r − mean of its prompt; returns with gamma 1',
  options: z.object({}),
  compares: 'samples of a prompt',
  reads: [],
  shape: minusMean,
  advantages: ({ rewards }) => {
    const returns = discountedReturns(rewards, 1)
    return { advantages: returns.slice(), returns }
  },
})
