import { type AdvantageOptions, type ResolvedAdvantageOptions, resolveAdvantageOptions } from './advantage-options.js'
import { clipAdvantagesInPlace, whitenInPlace } from './advantages.js'
import { clipInPlace } from './clip.js'
import type { TokenAdvantages } from './define-estimator.js'
import { estimatorOf, estimatorOptionsOf } from './estimators.js'
import { groupsOf } from './groups.js'
import { meanKl, tokenKl } from './kl.js'
import { sum } from './moments.js'
import { firstNonFinite, RolloutError, type RolloutSample, rolloutProblems } from './rollout-samples.js'
import {
  initialRunningMoments,
  normalizeByRunningMoments,
  type RunningMoments,
  updateRunningMoments,
} from './running-moments.js'
import { configuredOverlongPenalty, shapeRewards } from './shaping.js'
import {
  type Distribution,
  distribution,
  type GroupStatistics,
  groupStatistics,
  type TokenStatistics,
  tokenStatistics,
} from './statistics.js'
import { tokenRewards } from './token-rewards.js'
import { addToTurns, spreadTurnRewards, stepAdvantages, tokenDiscounts } from './turns.js'

/** Default KL coefficient if samples have reference log-probabilities. */
const defaultKlCoef = 0.01

/** What became of one sample. Arrays have one number per response token. */
export interface DerivedSample {
  /** 0 or less; added to the raw reward before the comparison. */
  readonly overlongPenalty: number
  /** After comparison, running normalisation and clipping: the reward of the last token. */
  readonly shapedReward: number
  /** Measured if there is a reference, also with a coefficient of 0. */
  readonly kl: Float64Array | undefined
  readonly tokenRewards: Float64Array
  readonly advantages: Float64Array
  readonly returns: Float64Array
}

/** Statistics of a rollout for logs; distributions are over samples and undefined if there are none. */
export interface AdvantageInfo {
  readonly samples: number
  readonly tokens: number
  /** The raw reward. */
  readonly reward: Distribution | undefined
  readonly overlongPenalty: Distribution | undefined
  readonly shapedReward: Distribution | undefined
  readonly responseLength: Distribution | undefined
  /** Sum of the token rewards of a response: its shaped reward minus its KL penalty. */
  readonly return: Distribution | undefined
  /** Mean over samples of the mean over tokens; undefined without a reference. */
  readonly kl: number | undefined
  /** The coefficient that went into the rewards; 0 where KL was left out. */
  readonly klCoef: number
  readonly advantages: TokenStatistics | undefined
  readonly returns: TokenStatistics | undefined
  /** Share of samples whose shaped reward, and share of tokens whose advantage, lay outside the limit before it was applied. */
  readonly rewardClipFraction: number
  readonly advantageClipFraction: number
  /** Of rewards with their overlong penalty; undefined where samples have no groups. */
  readonly groups: GroupStatistics | undefined
}

export interface DerivedRollout {
  /** In the order of the samples given. */
  readonly samples: readonly DerivedSample[]
  readonly info: AdvantageInfo
  /** Pass them to the next rollout; an evaluation discards them. */
  readonly runningMoments: RunningMoments
}

/**
 * Everything from raw rewards to advantages over one whole rollout, in this order: overlong penalty, comparison within groups,
 * running normalisation, clipping, token rewards with KL, the estimator, whitening, clipping. Which samples make the rollout
 * (dynamic sampling, groups that lost members) is decided before.
 *
 * An unusable sample is a {@link RolloutError} that names it; invalid options are a `ConfigError`.
 *
 * @example
 * const { samples, info } = deriveAdvantages({
 *   samples: [
 *     { promptId: 'a', reward: 1, length: 2 },
 *     { promptId: 'a', reward: 0, length: 3 },
 *   ],
 *   options: { advantageEstimator: 'rloo', klCoef: 0 },
 * })
 * samples[0]?.advantages // 1, 1
 * samples[1]?.advantages // -1, -1, -1
 */
export function deriveAdvantages(input: {
  samples: readonly RolloutSample[]
  options: AdvantageOptions
  /** Of all rollouts before; read only with `rewardRunningNorm`. */
  runningMoments?: RunningMoments
}): DerivedRollout {
  const { samples, runningMoments: before = initialRunningMoments } = input
  const options = resolveAdvantageOptions(input.options)
  const problems = rolloutProblems(samples, options)
  if (problems.length > 0) throw new RolloutError(problems)

  const penalties = Float64Array.from(samples, ({ length }) => configuredOverlongPenalty(length, options))
  const rewards = Float64Array.from(samples, ({ reward }, i) => reward + penalties[i]!)
  const groups = groupsOf(samples).map(({ places }) => places)
  const estimator = estimatorOf(options.advantageEstimator)
  const compared = shapeRewards({ ...options, rewards, groups, estimator })
  const { shaped, runningMoments } = normalize(compared, before, options)
  const rewardsClipped = clipInPlace(shaped, options.rewardClip)

  const reference = samples.some(({ refLogprobs }) => refLogprobs)
  const klCoef = reference && !options.useKlLoss ? (options.klCoef ?? defaultKlCoef) : 0
  const { gamma, lambd, turnGamma, stepWeight } = options
  const own = estimatorOptionsOf(estimator, options)
  const derived = samples.map((sample, i) => {
    const discounts = tokenDiscounts(sample, { gamma, turnGamma })
    const estimate = (rewards: Float64Array): TokenAdvantages =>
      estimator.advantages({ rewards, values: sample.values, gamma, discounts, lambd, options: own })
    // Rewards that were compared or normalised are of the whole episode.
    const byTurn = shaped[i] === rewards[i]
    return deriveSample(sample, { place: i, shapedReward: shaped[i]!, byTurn, klCoef, options, estimate })
  })
  if (estimator.compares === 'samples of a prompt' && stepWeight > 0) {
    const shape = (returns: Float64Array): Float64Array => estimator.shape(returns, own)
    const whole = samples.map(({ turns }, i) => ({ turns, reward: rewards[i]! }))
    for (const [i, steps] of stepAdvantages({ samples: whole, groups, turnGamma, shape }).entries()) {
      const weighted = steps.map(step => stepWeight * step)
      const { turns = [] } = samples[i]!
      addToTurns(derived[i]!.advantages, turns, weighted)
      addToTurns(derived[i]!.returns, turns, weighted)
    }
  }
  const advantages = derived.map(sample => sample.advantages)
  if (options.advantagesNorm) whitenInPlace(advantages)
  const advantageClipFraction = clipAdvantagesInPlace(advantages, options.advantageClip)

  requireFinite('advantage', advantages)
  const returns = derived.map(sample => sample.returns)
  requireFinite('return', returns)

  const kl = derived.flatMap(sample => sample.kl ?? [])
  return {
    samples: derived.map((sample, i) => ({ ...sample, overlongPenalty: penalties[i]! })),
    runningMoments,
    info: {
      samples: samples.length,
      tokens: samples.reduce((tokens, { length }) => tokens + length, 0),
      reward: distribution(samples.map(({ reward }) => reward)),
      overlongPenalty: distribution(penalties),
      shapedReward: distribution(shaped),
      responseLength: distribution(samples.map(({ length }) => length)),
      return: distribution(derived.map(sample => sum(sample.tokenRewards))),
      kl: kl.length === 0 ? undefined : meanKl(kl),
      klCoef,
      advantages: tokenStatistics(advantages),
      returns: tokenStatistics(returns),
      rewardClipFraction: samples.length === 0 ? 0 : rewardsClipped / samples.length,
      advantageClipFraction,
      groups: groupStatistics(groups.map(places => places.map(place => rewards[place]!))),
    },
  }
}

/** Sums of finite inputs can still overflow. */
function requireFinite(what: string, values: readonly Float64Array[]): void {
  for (const [sample, tokens] of values.entries()) {
    const bad = firstNonFinite(tokens)
    if (bad >= 0)
      throw new RolloutError([
        { sample, field: 'reward', message: `the ${what} at token ${bad} becomes ${tokens[bad]}` },
      ])
  }
}

function normalize(
  rewards: Float64Array,
  before: RunningMoments,
  { rewardRunningNorm, rewardRunningNormMinusMean: minusMean }: ResolvedAdvantageOptions,
): { shaped: Float64Array; runningMoments: RunningMoments } {
  if (!rewardRunningNorm) return { shaped: rewards, runningMoments: before }
  const runningMoments = updateRunningMoments(before, rewards)
  return { shaped: normalizeByRunningMoments(rewards, runningMoments, { minusMean }), runningMoments }
}

function deriveSample(
  sample: RolloutSample,
  context: {
    place: number
    shapedReward: number
    /** Whether the rewards of turns stand at their ends. */
    byTurn: boolean
    klCoef: number
    options: ResolvedAdvantageOptions
    estimate: (rewards: Float64Array) => TokenAdvantages
  },
): Omit<DerivedSample, 'overlongPenalty'> {
  const { place, shapedReward, byTurn, klCoef, options, estimate } = context
  const { length, logprobs, refLogprobs, turns } = sample
  const kl =
    logprobs && refLogprobs
      ? tokenKl({ logprobs, refLogprobs, estimator: options.klEstimator ?? (options.useKlLoss ? 'k3' : 'k1') })
      : undefined
  const bad = kl ? firstNonFinite(kl) : -1
  if (bad >= 0)
    throw new RolloutError([
      {
        sample: place,
        field: 'refLogprobs',
        message: `KL is not finite at token ${bad}, where it is ${refLogprobs![bad]}`,
      },
    ])
  const rewards = tokenRewards({ reward: shapedReward, length, kl, klCoef })
  if (turns && byTurn) spreadTurnRewards(rewards, turns)
  return { shapedReward, kl, tokenRewards: rewards, ...estimate(rewards) }
}
