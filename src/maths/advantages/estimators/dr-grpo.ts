import { z } from 'zod'
import { defineEstimator } from '../define-estimator.js'
import { minusMean } from './baseline.js'

export const drGrpo = defineEstimator({
  name: 'dr_grpo',
  description: 'r − mean of its prompt',
  options: z.object({}),
  compares: 'samples of a prompt',
  shape: minusMean,
})
