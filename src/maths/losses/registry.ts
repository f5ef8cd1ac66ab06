/** All losses by name, for configs, docs and tests. */
import { z } from 'zod'
import type { LossDefinition } from './define-loss.js'
import { entropyLoss, entropyLossSchema } from './entropy.js'
import { klLoss, klLossSchema } from './kl.js'
import { objective } from './objective.js'
import { policyLosses, policyLossNames } from './policy-losses.js'
import { objectiveShape } from './policy-options.js'
import { kto } from './preference/kto.js'
import { preferenceLosses } from './preference-losses.js'
import { ranking } from './ranking.js'
import { sftLoss, sftLossSchema } from './sft.js'
import { valueLoss, valueLossSchema } from './value.js'

/** What the samples of a loss are. Definitions are of one of the first four kinds. */
export type LossKind = LossDefinition['kind'] | 'kl' | 'entropy' | 'value' | 'sft' | 'objective'

export interface LossEntry {
  readonly kind: LossKind
  readonly description: string
  /** Of one token, pair or response, for the docs. */
  readonly formula?: string | undefined
  /** Of the options of `compute`. */
  readonly schema: z.ZodObject
  /**
   * The fields of a sample that the gradient is with respect to are the fields of its gradient. `ratio`: the loss holds the ratio
   * to the old policy constant, so that its gradient is not the slope of its value.
   */
  readonly heldConstant: 'nothing' | 'ratio'
  readonly compute: (call: never) => {
    readonly value: number
    readonly gradients: readonly object[]
    readonly statistics: object
  }
}

const heldConstant = 'nothing'

/**
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { gradients } = losses.ppo.compute({ samples, totals: tokenTotals([2]), options: { clipHigh: 0.28 } })
 */
export const losses = {
  ...policyLosses,
  kl: {
    kind: 'kl',
    description: 'KL to the reference',
    formula:
      'the aggregate of k1 = d, k2 = d²/2 or k3 = exp(−d) − 1 + d, with d = lp − ref; the gradient goes through lp',
    heldConstant,
    schema: klLossSchema,
    compute: klLoss,
  },
  entropy: {
    kind: 'entropy',
    description: 'minus the entropy',
    formula: 'minus the aggregate of the entropies',
    heldConstant,
    schema: entropyLossSchema,
    compute: entropyLoss,
  },
  value: {
    kind: 'value',
    description: 'clipped squared error of the values of a critic',
    formula:
      'half the aggregate of max((v − R)², (v_old + clip(v − v_old, ±valueClip) − R)²); the plain square for `valueClip: null`',
    heldConstant,
    schema: valueLossSchema,
    compute: valueLoss,
  },
  'reward-model': ranking,
  ...preferenceLosses,
  kto,
  sft: {
    kind: 'sft',
    description: 'supervised fine-tuning',
    formula: 'mean negative log-probability over the trained tokens',
    heldConstant,
    schema: sftLossSchema,
    compute: sftLoss,
  },
  objective: {
    kind: 'objective',
    description: 'the whole loss of an update: a policy loss with its options, KL, entropy and supervised mix-in',
    heldConstant,
    schema: z.strictObject({ loss: z.enum(policyLossNames).describe('the policy loss'), ...objectiveShape }),
    compute: objective,
  },
} as const satisfies Record<string, LossEntry>

export type LossName = keyof typeof losses
