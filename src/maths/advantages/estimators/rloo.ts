import { z } from 'zod'
import { defineEstimator } from '../define-estimator.js'
import { allEqual, momentsOf } from '../moments.js'

export const rloo = defineEstimator({
  name: 'rloo',
  description: 'r − (sum − r)/(N − 1): each sample against the mean of the others of its prompt',
  options: z.object({}),
  compares: 'samples of a prompt',
  shape: rewards => {
    const size = rewards.length
    if (allEqual(rewards)) return new Float64Array(size)
    const sum = momentsOf(rewards).mean * size
    return rewards.map(reward => reward - (sum - reward) / (size - 1))
  },
})
