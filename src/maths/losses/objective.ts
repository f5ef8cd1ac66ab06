import { z } from 'zod'
import { klEstimators } from '../advantages/kl.js'
import { refineAggregation, type TokenTotals } from './aggregation.js'
import { resolvedEntropyLoss } from './entropy.js'
import { resolvedKlLoss } from './kl.js'
import { resolveOptions } from './options.js'
import { type PolicySample, type PolicyStatistics, resolvedPolicyLoss } from './policy.js'
import { type PolicyLossName, policyShapes, type ResolvedPolicyOptions } from './policy-options.js'

/** What an update adds to its policy loss. */
export const objectiveShape = {
  klCoef: z.number().min(0).default(0).describe('coefficient of the KL loss; 0: no KL loss'),
  klEstimator: z.enum(klEstimators).default('k3').describe('per-token KL estimator: k1, k2 or k3'),
  entropyCoef: z.number().min(0).default(0).describe('coefficient of the entropy bonus'),
}

const objectiveSchemas = {
  ppo: z.strictObject({ ...policyShapes.ppo, ...objectiveShape }).superRefine(refineAggregation),
  gspo: z.strictObject({ ...policyShapes.gspo, ...objectiveShape }).superRefine(refineAggregation),
  gmpo: z.strictObject({ ...policyShapes.gmpo, ...objectiveShape }).superRefine(refineAggregation),
  cispo: z.strictObject({ ...policyShapes.cispo, ...objectiveShape }).superRefine(refineAggregation),
  cpg: z.strictObject({ ...policyShapes.cpg, ...objectiveShape }).superRefine(refineAggregation),
} as const

/** The options of the policy loss that `loss` names, and of what is added to it. */
export type ObjectiveOptions = {
  [L in PolicyLossName]: { readonly loss: L } & Readonly<z.input<(typeof objectiveSchemas)[L]>>
}[PolicyLossName]

type ResolvedObjectiveOptions = ResolvedPolicyOptions & z.output<z.ZodObject<typeof objectiveShape>>

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
 * Everything one update of a policy minimises, over some or all samples of its batch. KL and entropy are aggregated as the policy
 * loss is, over all tokens: importance weights and the filter of tokens concern the policy loss alone. They are measured
 * wherever samples have the numbers, also where they cost nothing.
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
  const policy = resolvedPolicyLoss({ samples, totals, options })
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
  const { loss, ...given } = options
  const schema = objectiveSchemas[loss]
  if (!schema)
    throw new RangeError(`there is no policy loss "${loss}"; there are ${Object.keys(objectiveSchemas).join(', ')}`)
  return { loss, ...resolveOptions<z.ZodObject>(loss, schema, given) } as ResolvedObjectiveOptions
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
