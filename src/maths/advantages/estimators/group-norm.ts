import { z } from 'zod'
import { defineEstimator } from '../define-estimator.js'
import { allEqual, momentsOf, normalizationEpsilon, sampleStd } from '../moments.js'

const standardized = {
  options: z.object({
    groupNormEps: z
      .number()
      .positive()
      .default(normalizationEpsilon)
      .describe('added to the standard deviation that rewards are divided by'),
  }),
  compares: 'samples of a prompt' as const,
  shape: (rewards: Float64Array, { groupNormEps }: { groupNormEps: number }): Float64Array => {
    if (allEqual(rewards)) return new Float64Array(rewards.length)
    const moments = momentsOf(rewards)
    const scale = sampleStd(moments) + groupNormEps
    return rewards.map(reward => (reward - moments.mean) / scale)
  },
}

export const groupNorm = defineEstimator({
  ...standardized,
  name: 'group_norm',
  description: '(r − mean)/(standard deviation + `groupNormEps`) of its prompt',
})

export const grpo = defineEstimator({ ...standardized, name: 'grpo', description: 'alias of group_norm' })

export const cpgd = defineEstimator({ ...standardized, name: 'cpgd', description: 'as group_norm, for the loss cpg' })
