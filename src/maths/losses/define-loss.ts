/** Losses, as ours and a user's are made. The formula is of one response or pair; batches, checks and statistics are added here. */
import type { z } from 'zod'
import { type Definition, define, isDefinition } from '../definition.js'
import { refineAggregation, type TokenTotals } from './aggregation.js'
import { computeLabelledLoss, type KtoLossResult, type KtoSample, type KtoTotals } from './kto.js'
import { computePolicyLoss, type PolicyLossResult, type PolicySample } from './policy.js'
import { type CommonPolicyOptions, objectiveShape, policyShape } from './policy-options.js'
import type { PolicyTokens } from './policy-tokens.js'
import { computePreferenceLoss, type PreferenceLossResult, type PreferencePair } from './preference.js'
import { computeRewardModelLoss, type PairTotals, type RewardModelLossResult, type ScoredPair } from './reward-model.js'

interface Call<Sample, Totals, Options> {
  readonly samples: readonly Sample[]
  /** Of the whole batch of an optimiser step. */
  readonly totals: Totals
  readonly options: Options
}

interface LossDefinitionBase<Kind extends string, Options extends z.ZodObject> extends Definition<'loss'> {
  readonly kind: Kind
  readonly options: Options
  /** Of one token, pair or response, for the docs. */
  readonly formula?: string | undefined
  /** All options of `compute`: its own, and those that losses of its kind share. */
  readonly schema: z.ZodObject
  /** `ratio`: the ratio to the old policy is a constant of the formula, so that the gradient is not the slope of the value. */
  readonly heldConstant: 'nothing' | 'ratio'
}

export interface PolicyLossDefinition<Options extends z.ZodObject = z.ZodObject>
  extends LossDefinitionBase<'policy', Options> {
  /** The sum of coefficient times loss over the tokens of one response; fills `tokens.gradient`. */
  loss(tokens: PolicyTokens, options: z.output<Options>): number
  /** Values, gradients and statistics of some responses of a batch. */
  compute(call: Call<PolicySample, TokenTotals, z.input<Options> & CommonPolicyOptions>): PolicyLossResult
}

/** What a preference loss sees of a pair: log-probabilities of its responses, summed or averaged over their tokens. */
export interface PairLogprobs {
  /** Policy less reference. */
  readonly chosen: number
  readonly rejected: number
  /** Of the policy alone. */
  readonly policyChosen: number
  readonly policyRejected: number
}

/** A loss, and its derivatives with respect to the chosen and the rejected response's number. */
export interface PairTerm {
  readonly value: number
  readonly chosen: number
  readonly rejected: number
}

export interface PreferenceLossDefinition<Options extends z.ZodObject = z.ZodObject>
  extends LossDefinitionBase<'preference', Options> {
  /** What the log-probability of a response is: the sum over its tokens (the default), or the mean. */
  logprobs?(options: z.output<Options>): 'sum' | 'mean'
  loss(pair: PairLogprobs, options: z.output<Options>): PairTerm
  compute(call: Call<PreferencePair, PairTotals, z.input<Options>>): PreferenceLossResult
}

/** What a loss on labelled responses sees of one. */
export interface LabelledResponse {
  /** Log-probability of the policy less that of the reference. */
  readonly logRatio: number
  /** The point of reference of the batch, a constant. */
  readonly z0: number
  readonly desirable: boolean
}

export interface LabelledLossDefinition<Options extends z.ZodObject = z.ZodObject>
  extends LossDefinitionBase<'labelled', Options> {
  /** The loss, and its derivative with respect to `logRatio`. */
  loss(response: LabelledResponse, options: z.output<Options>): { readonly value: number; readonly slope: number }
  compute(call: Call<KtoSample, KtoTotals, z.input<Options>>): KtoLossResult
}

export interface RewardModelLossDefinition<Options extends z.ZodObject = z.ZodObject>
  extends LossDefinitionBase<'reward-model', Options> {
  loss(pair: Pick<ScoredPair, 'chosen' | 'rejected' | 'margin'>, options: z.output<Options>): PairTerm
  compute(call: Call<ScoredPair, PairTotals, z.input<Options>>): RewardModelLossResult
}

export type LossDefinition =
  | PolicyLossDefinition
  | PreferenceLossDefinition
  | LabelledLossDefinition
  | RewardModelLossDefinition

type Parts<D extends LossDefinition> = Omit<D, 'defines' | 'toJSON' | 'file' | 'schema' | 'compute' | 'heldConstant'> &
  Partial<Pick<D, 'heldConstant'>>

/**
 * A loss. A `policy` loss is of one response and fills in its gradient; `preference` losses are of pairs and a reference,
 * `labelled` ones of single responses and a reference, `reward-model` ones of the scores of a pair.
 *
 * @example
 * export default defineLoss({
 *   kind: 'policy',
 *   name: 'plain',
 *   description: 'the policy gradient without ratios',
 *   options: z.object({}),
 *   loss: ({ length, logprobs, advantages, coefficients, gradient }) => {
 *     let value = 0
 *     for (let t = 0; t < length; t++) {
 *       gradient[t] = -coefficients[t]! * advantages[t]!
 *       value += gradient[t]! * logprobs[t]!
 *     }
 *     return value
 *   },
 * })
 */
export function defineLoss<Options extends z.ZodObject>(
  parts: Parts<PolicyLossDefinition<Options>>,
): PolicyLossDefinition<Options>
export function defineLoss<Options extends z.ZodObject>(
  parts: Parts<PreferenceLossDefinition<Options>>,
): PreferenceLossDefinition<Options>
export function defineLoss<Options extends z.ZodObject>(
  parts: Parts<LabelledLossDefinition<Options>>,
): LabelledLossDefinition<Options>
export function defineLoss<Options extends z.ZodObject>(
  parts: Parts<RewardModelLossDefinition<Options>>,
): RewardModelLossDefinition<Options>
export function defineLoss(parts: Parts<LossDefinition>): LossDefinition {
  const { kind, name, options } = parts
  if (!Object.hasOwn(computing, kind))
    throw new TypeError(`loss "${name}": there is no kind "${kind}"; there are ${Object.keys(computing).join(', ')}`)
  if (typeof parts.loss !== 'function') throw new TypeError(`loss "${name}": it needs a function loss`)
  const taken = kind === 'policy' ? Object.keys(options.shape).filter(option => shared.includes(option)) : []
  if (taken.length > 0)
    throw new TypeError(
      `loss "${name}": every policy loss has an option ${taken.join(', ')} already; choose other names`,
    )
  const made = define({ defines: 'loss' as const, heldConstant: 'nothing' as const, ...parts }) as LossDefinition
  const schema =
    kind === 'policy' ? made.options.safeExtend(policyShape).superRefine(refineAggregation as never) : made.options
  const compute = (call: never) => computing[kind](made as never, call)
  return Object.assign(made, { schema, compute }) as LossDefinition
}

const shared = ['loss', ...Object.keys(policyShape), ...Object.keys(objectiveShape)]

const computing = {
  policy: computePolicyLoss,
  preference: computePreferenceLoss,
  labelled: computeLabelledLoss,
  'reward-model': computeRewardModelLoss,
}

export function isLoss<Kind extends LossDefinition['kind']>(
  kind: Kind,
): (value: unknown) => value is Extract<LossDefinition, { kind: Kind }> {
  return (value): value is Extract<LossDefinition, { kind: Kind }> =>
    isDefinition(value, 'loss') && 'kind' in value && value.kind === kind
}
