import { z } from 'zod'
import { aggregationShape, refineAggregation } from './aggregation.js'

const atLeastZero = z.number().min(0)
const belowOne = (description: string) => z.number().min(0).max(1).default(0.2).describe(description)
const clipHigh = atLeastZero.default(0.2).describe('ratios count up to 1 plus this')

/** What all policy losses share: importance weights, the filter of tokens, aggregation. */
const commonShape = {
  tisCap: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('weigh tokens by trainer to engine probability, at most this; null does not'),
  highEntropyTokenRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('policy loss of this share of the tokens only, those of highest entropy; 0 and 1: all'),
  ...aggregationShape,
}

const ratioClip = { clipLow: belowOne('ratios count down to 1 minus this'), clipHigh }

/** The options of each policy loss. The descriptions are the table of the docs. */
export const policyShapes = {
  ppo: {
    ...ratioClip,
    dualClip: z
      .number()
      .gt(1)
      .nullable()
      .default(null)
      .describe('where the advantage is negative, ratios count up to this; null: without bound'),
    ...commonShape,
  },
  gspo: { ...ratioClip, ...commonShape },
  gmpo: {
    clipLow: atLeastZero.default(0.2).describe('log-ratios count down to minus this'),
    clipHigh: atLeastZero.default(0.2).describe('log-ratios count up to this'),
    ...commonShape,
  },
  cispo: { ...ratioClip, ...commonShape },
  cpg: {
    clipLow: z.number().min(0).lt(1).default(0.2).describe('log-probabilities count down to a ratio of 1 minus this'),
    clipHigh: atLeastZero.default(0.2).describe('log-probabilities count up to a ratio of 1 plus this'),
    driftCoef: atLeastZero.default(0).describe('cost of moving away from the old policy'),
    ...commonShape,
  },
} as const

export type PolicyLossName = keyof typeof policyShapes
export const policyLossNames = Object.keys(policyShapes) as [PolicyLossName, ...PolicyLossName[]]

export const policySchemas = {
  ppo: z.strictObject(policyShapes.ppo).superRefine(refineAggregation),
  gspo: z.strictObject(policyShapes.gspo).superRefine(refineAggregation),
  gmpo: z.strictObject(policyShapes.gmpo).superRefine(refineAggregation),
  cispo: z.strictObject(policyShapes.cispo).superRefine(refineAggregation),
  cpg: z.strictObject(policyShapes.cpg).superRefine(refineAggregation),
} as const

type Schemas = typeof policySchemas
/** As a user writes them; `loss` says which. */
export type PolicyLossOptions = {
  [L in PolicyLossName]: { readonly loss: L } & Readonly<z.input<Schemas[L]>>
}[PolicyLossName]
/** With every default in its place. */
export type ResolvedPolicyOptions<L extends PolicyLossName = PolicyLossName> = {
  [M in L]: { readonly loss: M } & Readonly<z.output<Schemas[M]>>
}[L]
