import { z } from 'zod'
import { advantageEstimators, estimatorTraits, isGroupEstimator } from './estimators.js'
import { klEstimators } from './kl.js'

const share = z.number().min(0).max(1)
const limit = z.number().min(0)

/**
 * The options between raw rewards and advantages. The descriptions are the help of the command line and the table of the docs;
 * a larger config takes the fields over with `...advantageOptionsShape` and {@link advantageOptionProblems}.
 */
export const advantageOptionsShape = {
  advantageEstimator: z.enum(advantageEstimators).default('gae').describe('how advantages are estimated'),
  nSamplesPerPrompt: z.int().min(1).optional().describe('samples every group must have (default: what most have)'),
  groupNormEps: z
    .number()
    .positive()
    .default(1e-9)
    .describe('added to the standard deviation that group_norm, grpo and cpgd divide by'),
  gamma: share.default(1).describe('discount per token'),
  lambd: share.default(0.95).describe("GAE's lambda"),
  klCoef: z
    .number()
    .min(0)
    .optional()
    .describe('cost of KL in the rewards, 0 leaves it out (default 0.01 where there is a reference)'),
  klEstimator: z.enum(klEstimators).optional().describe('k1, k2 or k3 (default k1, or k3 where KL is a loss)'),
  useKlLoss: z.boolean().default(false).describe('KL is a loss in training, so the rewards leave it out'),
  overlongBuffer: z
    .boolean()
    .default(false)
    .describe('take reward from responses that reach the last tokens they may have'),
  overlongBufferLen: z.int().min(1).default(50).describe('how many tokens before maxNewTokens that begins'),
  overlongBufferPenaltyFactor: limit.default(1).describe('what a response of maxNewTokens loses'),
  maxNewTokens: z.int().min(1).optional().describe('tokens a response may have; the overlong buffer ends there'),
  rewardRunningNorm: z.boolean().default(false).describe('divide shaped rewards by their running standard deviation'),
  rewardRunningNormMinusMean: z.boolean().default(false).describe('and subtract their running mean before'),
  rewardClip: limit.default(0).describe('clamp shaped rewards to plus or minus this; 0 does not'),
  advantagesNorm: z.boolean().default(false).describe('bring the advantages of all tokens to mean 0 and deviation 1'),
  advantageClip: limit.default(0).describe('clamp advantages to plus or minus this; 0 does not'),
}

const plainSchema = z.strictObject(advantageOptionsShape)

/** As a user writes them: every field may be left out. */
export type AdvantageOptions = z.input<typeof plainSchema>
/** With every default in its place. */
export type ResolvedAdvantageOptions = z.output<typeof plainSchema>

/** What does not go together, whichever config the options are part of. */
export function advantageOptionProblems(
  options: ResolvedAdvantageOptions,
): { option: keyof AdvantageOptions; message: string }[] {
  const problems: { option: keyof AdvantageOptions; message: string }[] = []
  const { advantageEstimator, nSamplesPerPrompt, maxNewTokens, overlongBufferLen } = options
  if (isGroupEstimator(advantageEstimator) && nSamplesPerPrompt === 1)
    problems.push({
      option: 'nSamplesPerPrompt',
      message: `${advantageEstimator} compares the samples of a prompt and needs at least 2; gae and reinforce work with 1`,
    })
  if (options.overlongBuffer && maxNewTokens === undefined)
    problems.push({ option: 'maxNewTokens', message: 'overlongBuffer needs it: the buffer ends there' })
  if (options.overlongBuffer && maxNewTokens !== undefined && overlongBufferLen > maxNewTokens)
    problems.push({
      option: 'overlongBufferLen',
      message: `${overlongBufferLen} tokens before maxNewTokens (${maxNewTokens}) is before the first`,
    })
  if (options.rewardRunningNormMinusMean && !options.rewardRunningNorm)
    problems.push({ option: 'rewardRunningNormMinusMean', message: 'does nothing without rewardRunningNorm' })
  return problems
}

/** What is allowed and probably not meant. */
export function advantageOptionWarnings({ advantageEstimator, gamma }: ResolvedAdvantageOptions): string[] {
  if (estimatorTraits(advantageEstimator).gamma === 'one' && gamma !== 1)
    return [`${advantageEstimator} always uses gamma 1; gamma ${gamma} is not used`]
  return []
}

export const advantageOptionsSchema = plainSchema.superRefine((options, context) => {
  for (const { option, message } of advantageOptionProblems(options))
    context.addIssue({ code: 'custom', path: [option], message })
})

/** Fills in defaults; options that cannot be are a `ZodError` that names each. */
export function resolveAdvantageOptions(options: AdvantageOptions): ResolvedAdvantageOptions {
  return advantageOptionsSchema.parse(options)
}

/** The part of a larger config that concerns advantages. */
export function pickAdvantageOptions(config: ResolvedAdvantageOptions): ResolvedAdvantageOptions {
  const names = new Set(Object.keys(advantageOptionsShape))
  return Object.fromEntries(Object.entries(config).filter(([name]) => names.has(name))) as ResolvedAdvantageOptions
}
