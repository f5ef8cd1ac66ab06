import { z } from 'zod'
import { aggregationShape, refineAggregation } from './aggregation.js'

const atLeastZero = z.number().min(0)
const belowOne = (description: string) => z.number().min(0).max(1).default(0.2).describe(description)
const clipHigh = atLeastZero.default(0.2).describe('upper clipping bound: the ratio is clipped to at most 1 + clipHigh')

/** What all policy losses share: importance weights, the filter of tokens, aggregation. */
const commonShape = {
  tisCap: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('weight each token by its trainer probability / engine probability, at most this; null: no weights'),
  highEntropyTokenRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('share of tokens, those of highest entropy, that have a policy loss; 0 and 1: all tokens'),
  ...aggregationShape,
}

const ratioClip = { clipLow: belowOne('lower clipping bound: the ratio is clipped to at least 1 - clipLow'), clipHigh }

/** The options of each policy loss. The descriptions are the table of the docs. */
export const policyShapes = {
  ppo: {
    ...ratioClip,
    dualClip: z
      .number()
      .gt(1)
      .nullable()
      .default(null)
      .describe('dual clip: largest ratio of tokens with a negative advantage; null: no dual clip'),
    ...commonShape,
  },
  gspo: { ...ratioClip, ...commonShape },
  gmpo: {
    clipLow: atLeastZero.default(0.2).describe('lower clipping bound: the log-ratio is clipped to at least -clipLow'),
    clipHigh: atLeastZero.default(0.2).describe('upper clipping bound: the log-ratio is clipped to at most clipHigh'),
    ...commonShape,
  },
  cispo: { ...ratioClip, ...commonShape },
  cpg: {
    clipLow: z
      .number()
      .min(0)
      .lt(1)
      .default(0.2)
      .describe('lower clipping bound: the log-probability is clipped where the ratio is 1 - clipLow'),
    clipHigh: atLeastZero
      .default(0.2)
      .describe('upper clipping bound: the log-probability is clipped where the ratio is 1 + clipHigh'),
    driftCoef: atLeastZero.default(0).describe('coefficient of the drift from the old policy'),
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
