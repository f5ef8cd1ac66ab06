/** All policy losses. To add one, write a file and add a line here. */
import type { z } from 'zod'
import { definitionNamed } from '../definition.js'
import type { TokenTotals } from './aggregation.js'
import type { PolicyLossDefinition } from './define-loss.js'
import { cispo } from './policy/cispo.js'
import { cpg } from './policy/cpg.js'
import { gmpo } from './policy/gmpo.js'
import { gspo } from './policy/gspo.js'
import { ppo } from './policy/ppo.js'
import type { PolicyLossResult, PolicySample } from './policy.js'
import type { CommonPolicyOptions } from './policy-options.js'

export const policyLosses = { ppo, gspo, gmpo, cispo, cpg } as const satisfies Record<string, PolicyLossDefinition>

type PolicyLossName = keyof typeof policyLosses
export const policyLossNames = Object.keys(policyLosses) as [PolicyLossName, ...PolicyLossName[]]

export function policyLossOf(loss: PolicyLossName | PolicyLossDefinition): PolicyLossDefinition {
  return definitionNamed<PolicyLossDefinition>(loss, policyLosses, 'policy loss')
}

/** `loss` says which, by its name or as a definition; the others are its own options, and `More` of what is added to it. */
export type LossChoice<More = unknown> =
  | {
      [L in PolicyLossName]: { readonly loss: L } & Readonly<z.input<(typeof policyLosses)[L]['options']>> & More
    }[PolicyLossName]
  | ({ readonly loss: PolicyLossDefinition } & Readonly<Record<string, unknown>> & More)

/** As a user writes them. */
export type PolicyLossOptions = LossChoice<CommonPolicyOptions>

/**
 * The policy loss of some responses of a batch and its gradient with respect to their log-probabilities.
 *
 * @example
 * const samples = [{ logprobs: [-1, -0.4], oldLogprobs: [-1.1, -0.5], advantages: [0.5, 0.5] }]
 * const { value, gradients } = policyLoss({ samples, totals: tokenTotals([2]), options: { loss: 'ppo', clipHigh: 0.28 } })
 */
export function policyLoss(call: {
  samples: readonly PolicySample[]
  totals: TokenTotals
  options: PolicyLossOptions
}): PolicyLossResult {
  const { loss, ...options } = call.options
  return policyLossOf(loss).compute({ ...call, options })
}
