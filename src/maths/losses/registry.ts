/** Every loss there is, by its name: what a config may choose from, what the docs list and what the tests go through. */
import { z } from 'zod'
import type { TokenTotals } from './aggregation.js'
import { entropyLoss, entropyLossSchema } from './entropy.js'
import { klLoss, klLossSchema } from './kl.js'
import { ktoLoss, ktoLossSchema } from './kto.js'
import { objective, objectiveShape } from './objective.js'
import { type PolicyLossResult, type PolicySample, policyLoss } from './policy.js'
import { type PolicyLossName, policyLossNames, policySchemas } from './policy-options.js'
import {
  type PreferenceLossName,
  type PreferenceLossResult,
  type PreferencePair,
  preferenceLoss,
  preferenceSchemas,
} from './preference.js'
import { type PairTotals, rewardModelLoss, rewardModelLossSchema } from './reward-model.js'
import { sftLoss, sftLossSchema } from './sft.js'
import { valueLoss, valueLossSchema } from './value.js'

/** What the samples of a loss are. */
export type LossKind =
  | 'policy'
  | 'kl'
  | 'entropy'
  | 'value'
  | 'reward-model'
  | 'preference'
  | 'kto'
  | 'sft'
  | 'objective'

export interface LossEntry {
  readonly kind: LossKind
  readonly description: string
  readonly options: z.ZodObject
  /**
   * The fields of a sample that the gradient is with respect to are the fields of its gradient. `ratio`: the loss holds the ratio
   * to the old policy constant, so that its gradient is not the slope of its value.
   */
  readonly heldConstant: 'nothing' | 'ratio'
  readonly loss: (call: never) => {
    readonly value: number
    readonly gradients: readonly object[]
    readonly statistics: object
  }
}

const policy = <L extends PolicyLossName>(loss: L, description: string, heldConstant: LossEntry['heldConstant']) => ({
  kind: 'policy' as const,
  description,
  heldConstant,
  options: policySchemas[loss],
  loss: (call: {
    samples: readonly PolicySample[]
    totals: TokenTotals
    options: z.input<(typeof policySchemas)[L]>
  }): PolicyLossResult => policyLoss({ ...call, options: { loss, ...call.options } as never }),
})

const preference = <L extends PreferenceLossName>(loss: L, description: string) => ({
  kind: 'preference' as const,
  description,
  heldConstant: 'nothing' as const,
  options: preferenceSchemas[loss],
  loss: (call: {
    samples: readonly PreferencePair[]
    totals: PairTotals
    options: z.input<(typeof preferenceSchemas)[L]>
  }): PreferenceLossResult => preferenceLoss({ ...call, options: { loss, ...call.options } as never }),
})

/**
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { gradients } = losses.ppo.loss({ samples, totals: tokenTotals([2]), options: { clipHigh: 0.28 } })
 */
export const losses = {
  ppo: policy('ppo', 'clipped token ratios', 'nothing'),
  gspo: policy('gspo', 'clipped ratio of the whole response', 'nothing'),
  gmpo: policy('gmpo', 'geometric mean of clipped token ratios', 'nothing'),
  cispo: policy('cispo', 'clipped ratios as weights; every token has a gradient', 'ratio'),
  cpg: policy('cpg', 'clipped log-probabilities with a drift penalty (CPGD)', 'nothing'),
  kl: {
    kind: 'kl',
    description: 'KL to the reference',
    heldConstant: 'nothing',
    options: klLossSchema,
    loss: klLoss,
  },
  entropy: {
    kind: 'entropy',
    description: 'minus the entropy',
    heldConstant: 'nothing',
    options: entropyLossSchema,
    loss: entropyLoss,
  },
  value: {
    kind: 'value',
    description: 'clipped squared error of the values of a critic',
    heldConstant: 'nothing',
    options: valueLossSchema,
    loss: valueLoss,
  },
  'reward-model': {
    kind: 'reward-model',
    description: 'pairwise ranking by scores',
    heldConstant: 'nothing',
    options: rewardModelLossSchema,
    loss: rewardModelLoss,
  },
  dpo: preference('dpo', 'direct preference optimisation'),
  cdpo: preference('cdpo', 'dpo for noisy labels'),
  ipo: preference('ipo', 'fixed distance between the log-ratios of a pair'),
  kto: {
    kind: 'kto',
    description: 'responses with a label each, not in pairs',
    heldConstant: 'nothing',
    options: ktoLossSchema,
    loss: ktoLoss,
  },
  sft: {
    kind: 'sft',
    description: 'supervised fine-tuning',
    heldConstant: 'nothing',
    options: sftLossSchema,
    loss: sftLoss,
  },
  objective: {
    kind: 'objective',
    description: 'the whole loss of an update: a policy loss with its options, KL, entropy and supervised mix-in',
    heldConstant: 'nothing',
    options: z.strictObject({
      loss: z.enum(policyLossNames).describe('the policy loss'),
      ...objectiveShape,
    }),
    loss: objective,
  },
} as const satisfies Record<string, LossEntry>

export type LossName = keyof typeof losses
