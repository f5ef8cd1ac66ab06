import { z } from 'zod'
import { defineEstimator } from '../define-estimator.js'

export const reinforce = defineEstimator({
  name: 'reinforce',
  description: 'discounted returns, not compared',
  options: z.object({}),
  compares: 'nothing',
})
