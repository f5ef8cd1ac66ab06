import { z } from 'zod'
import { klEstimators } from '../advantages/kl.js'
import { aggregationShape } from './aggregation.js'

/** What all policy losses share: importance weights, the filter of tokens, aggregation. */
export const policyShape = {
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

/** What an update adds to its policy loss. */
export const objectiveShape = {
  klCoef: z.number().min(0).default(0).describe('coefficient of the KL loss; 0: no KL loss'),
  klEstimator: z.enum(klEstimators).default('k3').describe('per-token KL estimator: k1, k2 or k3'),
  entropyCoef: z.number().min(0).default(0).describe('coefficient of the entropy bonus'),
}

type Common = z.ZodObject<typeof policyShape>
/** As a user writes them. */
export type CommonPolicyOptions = Readonly<z.input<Common>>
/** With every default in its place; the loss's own options are beside them. */
export type ResolvedPolicyOptions = Readonly<z.output<Common>>
