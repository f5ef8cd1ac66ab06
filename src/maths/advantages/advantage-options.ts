import { z } from 'zod'
import { checkedOptions } from '../../errors/index.js'
import { definitionOption } from '../definition.js'
import { isEstimator } from './define-estimator.js'
import { advantageEstimators, estimatorHints, estimatorOf, estimatorOptionsOf } from './estimators.js'
import { klEstimators } from './kl.js'

const share = z.number().min(0).max(1)
const limit = z.number().min(0)

/**
 * The options between raw rewards and advantages. The descriptions are the help of the command line and the table of the docs;
 * a larger config takes the fields over with `...advantageOptionsShape` and {@link advantageOptionProblems}.
 */
export const advantageOptionsShape = {
  advantageEstimator: definitionOption(advantageEstimators, {
    what: 'an estimator',
    accepts: isEstimator,
    hints: estimatorHints,
  })
    .default('gae')
    .describe('advantage estimator: the name of one, or a file with your own (defineEstimator)'),
  estimatorOptions: z.record(z.string(), z.unknown()).optional().describe('options of your own estimator'),
  nSamplesPerPrompt: z
    .int()
    .min(1)
    .optional()
    .describe('samples per prompt, the same for every group (default: the most frequent count)'),
  groupNormEps: z
    .number()
    .positive()
    .default(1e-9)
    .describe('epsilon added to the standard deviation that group_norm, grpo and cpgd divide by'),
  gamma: share.default(1).describe('discount factor per sampled token'),
  turnGamma: share.default(1).describe('discount factor per turn of an episode, beside gamma'),
  stepWeight: limit
    .default(1)
    .describe('GiGPO: weight of comparing turns that acted in the same state (stateKey); 0: none'),
  lambd: share.default(0.95).describe('lambda of GAE'),
  klCoef: z
    .number()
    .min(0)
    .optional()
    .describe('coefficient of KL in the rewards; 0: none (default 0.01 if samples have refLogprobs)'),
  klEstimator: z
    .enum(klEstimators)
    .optional()
    .describe('per-token KL estimator: k1, k2 or k3 (default k1; k3 with useKlLoss)'),
  useKlLoss: z.boolean().default(false).describe('add KL to the loss instead of the rewards'),
  overlongBuffer: z
    .boolean()
    .default(false)
    .describe('subtract a penalty from the reward of responses that end close to maxNewTokens'),
  overlongBufferLen: z.int().min(1).default(50).describe('tokens of the penalty zone, which ends at maxNewTokens'),
  overlongBufferPenaltyFactor: limit
    .default(1)
    .describe('penalty of a response with maxNewTokens tokens; it grows linearly over the zone'),
  maxNewTokens: z.int().min(1).optional().describe('most tokens of a response; the overlong buffer ends there'),
  rewardRunningNorm: z.boolean().default(false).describe('divide shaped rewards by their running standard deviation'),
  rewardRunningNormMinusMean: z.boolean().default(false).describe('subtract the running mean of the rewards first'),
  rewardClip: limit.default(0).describe('clip shaped rewards to plus or minus this; 0: no clipping'),
  advantagesNorm: z
    .boolean()
    .default(false)
    .describe('whiten advantages: mean 0 and standard deviation 1 over all tokens'),
  advantageClip: limit.default(0).describe('clip advantages to plus or minus this; 0: no clipping'),
}

const plainSchema = z.strictObject(advantageOptionsShape)

/** As a user writes them: every field may be left out. */
export type AdvantageOptions = z.input<typeof plainSchema>
/** With every default in its place. */
export type ResolvedAdvantageOptions = z.output<typeof plainSchema>

/** Contradicting options, in any config. */
export function advantageOptionProblems(
  options: ResolvedAdvantageOptions,
): { option: keyof AdvantageOptions; message: string }[] {
  const problems: { option: keyof AdvantageOptions; message: string }[] = []
  const { nSamplesPerPrompt, maxNewTokens, overlongBufferLen } = options
  const estimator = estimatorOf(options.advantageEstimator)
  try {
    estimatorOptionsOf(estimator, options)
  } catch (error) {
    problems.push({ option: 'estimatorOptions', message: (error as Error).message })
  }
  if (estimator.compares === 'samples of a prompt' && nSamplesPerPrompt === 1)
    problems.push({
      option: 'nSamplesPerPrompt',
      message: `${estimator.name} compares the samples of a prompt and needs at least 2; gae and reinforce work with 1`,
    })
  if (options.overlongBuffer && maxNewTokens === undefined)
    problems.push({ option: 'maxNewTokens', message: 'overlongBuffer needs it' })
  if (options.overlongBuffer && maxNewTokens !== undefined && overlongBufferLen > maxNewTokens)
    problems.push({
      option: 'overlongBufferLen',
      message: `${overlongBufferLen} is more than maxNewTokens (${maxNewTokens})`,
    })
  if (options.rewardRunningNormMinusMean && !options.rewardRunningNorm)
    problems.push({ option: 'rewardRunningNormMinusMean', message: 'does nothing without rewardRunningNorm' })
  return problems
}

/** Warnings about options that are allowed but probably a mistake. */
export function advantageOptionWarnings({ advantageEstimator, gamma }: ResolvedAdvantageOptions): string[] {
  const { name, reads } = estimatorOf(advantageEstimator)
  if (!reads.includes('gamma') && gamma !== 1) return [`${name} always uses gamma 1; gamma ${gamma} is not used`]
  return []
}

export const advantageOptionsSchema = plainSchema.superRefine((options, context) => {
  for (const { option, message } of advantageOptionProblems(options))
    context.addIssue({ code: 'custom', path: [option], message })
})

/** Fills in defaults; invalid options are a `ConfigError` that names each. */
export function resolveAdvantageOptions(options: AdvantageOptions): ResolvedAdvantageOptions {
  return checkedOptions('advantages', advantageOptionsSchema, options)
}

/** The part of a larger config that concerns advantages. */
export function pickAdvantageOptions(config: ResolvedAdvantageOptions): ResolvedAdvantageOptions {
  const names = new Set(Object.keys(advantageOptionsShape))
  return Object.fromEntries(Object.entries(config).filter(([name]) => names.has(name))) as ResolvedAdvantageOptions
}
