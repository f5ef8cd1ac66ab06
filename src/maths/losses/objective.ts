import type { z } from 'zod'
import { resolveOptions } from '../options.js'
import type { TokenTotals } from './aggregation.js'
import type { PolicyLossDefinition } from './define-loss.js'
import { resolvedEntropyLoss } from './entropy.js'
import { resolvedKlLoss } from './kl.js'
import { type PolicySample, type PolicyStatistics, resolvedPolicyLoss } from './policy.js'
import { type LossChoice, policyLossOf } from './policy-losses.js'
import { type CommonPolicyOptions, objectiveShape, type ResolvedPolicyOptions } from './policy-options.js'

/** The options of the policy loss that `loss` names or is, and of what is added to it. */
export type ObjectiveOptions = LossChoice<CommonPolicyOptions & Readonly<z.input<z.ZodObject<typeof objectiveShape>>>>

type ResolvedObjectiveOptions = ResolvedPolicyOptions &
  z.output<z.ZodObject<typeof objectiveShape>> & { readonly loss: PolicyLossDefinition }

const schemas = new WeakMap<PolicyLossDefinition, z.ZodObject>()

function schemaOf(loss: PolicyLossDefinition): z.ZodObject {
  const known = schemas.get(loss) ?? loss.schema.safeExtend(objectiveShape)
  schemas.set(loss, known)
  return known
}

export interface ObjectiveSample extends PolicySample {
  /** Of the reference; needed with `klCoef`. */
  readonly refLogprobs?: ArrayLike<number> | undefined
}

export interface ObjectiveResult {
  /** policy + klCoef kl - entropyCoef entropy, of these samples: parts add up. */
  readonly value: number
  /** Its terms before their coefficients; undefined where the samples have no numbers for one. */
  readonly policy: number
  readonly kl: number | undefined
  readonly entropy: number | undefined
  /** In the order of the samples; of entropies where `entropyCoef` is not 0. */
  readonly gradients: readonly { readonly logprobs: Float64Array; readonly entropies?: Float64Array }[]
  readonly statistics: PolicyStatistics
}

/**
 * The whole objective of a policy update, over some or all samples of its batch. KL and entropy are aggregated like the policy
 * loss, over all tokens: importance weights and the token filter only apply to the policy loss. Both are measured whenever
 * samples have the numbers, also with a coefficient of 0.
 *
 * @example
 * const samples: ObjectiveSample[] = [{ logprobs: [-1, -0.4], oldLogprobs: [-1.1, -0.4], advantages: [0.5, 0.5] }]
 * const totals = tokenTotals([2])
 * const { value, gradients } = objective({ samples, totals, options: { loss: 'ppo', aggregation: 'token-mean' } })
 */
export function objective(call: {
  samples: readonly ObjectiveSample[]
  totals: TokenTotals
  options: ObjectiveOptions
}): ObjectiveResult {
  const { samples, totals } = call
  const options = resolveObjectiveOptions(call.options)
  const { klCoef, entropyCoef } = options
  const policy = resolvedPolicyLoss(options.loss, { samples, totals, options })
  let value = policy.value

  const kl =
    klCoef > 0 || hasAll(samples, 'refLogprobs')
      ? resolvedKlLoss({ samples: samples as readonly KlReady[], totals, options })
      : undefined
  if (kl && klCoef > 0) {
    value += klCoef * kl.value
    for (const [i, { logprobs }] of policy.gradients.entries()) addScaled(logprobs, kl.gradients[i]!.logprobs, klCoef)
  }

  const entropy =
    entropyCoef > 0 || hasAll(samples, 'entropies')
      ? resolvedEntropyLoss({ samples: samples as readonly EntropyReady[], totals, options })
      : undefined
  if (entropy) value += entropyCoef * entropy.value

  return {
    value,
    policy: policy.value,
    kl: kl?.value,
    entropy: entropy && -entropy.value,
    gradients: policy.gradients.map(({ logprobs }, i) =>
      entropy && entropyCoef > 0
        ? { logprobs, entropies: scale(entropy.gradients[i]!.entropies, entropyCoef) }
        : { logprobs },
    ),
    statistics: policy.statistics,
  }
}

/** Fills in defaults; what cannot be is a `RangeError`. A trainer calls it once to know before the run. */
export function resolveObjectiveOptions(options: ObjectiveOptions): ResolvedObjectiveOptions {
  const { loss: named, ...given } = options
  const loss = policyLossOf(named)
  return { ...resolveOptions(loss.name, schemaOf(loss), given), loss } as ResolvedObjectiveOptions
}

type KlReady = ObjectiveSample & { readonly refLogprobs: ArrayLike<number> }
type EntropyReady = ObjectiveSample & { readonly entropies: ArrayLike<number> }

function hasAll(samples: readonly ObjectiveSample[], field: 'refLogprobs' | 'entropies'): boolean {
  return samples.length > 0 && samples.every(sample => sample[field] !== undefined)
}

function addScaled(target: Float64Array, source: Float64Array, factor: number): void {
  for (let t = 0; t < target.length; t++) target[t]! += factor * source[t]!
}

function scale(target: Float64Array, factor: number): Float64Array {
  for (let t = 0; t < target.length; t++) target[t]! *= factor
  return target
}
