import type { TokenModel } from '../model/index.js'
import type { DType } from '../tensor/index.js'
import type { Tokenizer } from '../text/index.js'
import { RewardComputationEngine } from './engine.js'
import type { RewardEngineOptions } from './engine-options.js'
import { listSpec, namedRewards, type RewardNames, rewardSpec } from './named-rewards.js'
import { fileOptionsOf, openRewardFile } from './process/reward-file.js'
import { openSpec } from './spec.js'

export interface LoadRewardsOptions {
  /** The policy's: reward models with the same one get the ids it sampled. */
  readonly tokenizer?: Tokenizer
  /** Device of reward models without their own device: the device of the run. Default: `auto`. */
  readonly device?: string | undefined
  /** Of their weights, where they run on that device. Default: float32 on the CPU, bfloat16 on a GPU. */
  readonly dtype?: DType | undefined
  /** Processes of each reward file. Default 1. */
  readonly workers?: number | undefined
  /** How long a reward file may take to load. Default 10. */
  readonly patienceMinutes?: number | undefined
  /** Of reward models that come from the Hub, by name. Default: what their branches are now. */
  readonly commits?: Readonly<Record<string, string>> | undefined
  /** Loads reward models that compute where the run does. Default: in this process. */
  readonly loadModel?: ((directory: string, options: RewardModelPlace) => Promise<TokenModel<'reward'>>) | undefined
  /** Ends the loading of a file. */
  readonly signal?: AbortSignal | undefined
}

/** How a reward model is loaded. */
export interface RewardModelPlace {
  readonly dtype?: DType | undefined
  readonly adapter?: string | undefined
}

/**
 * An engine from what a config names: a module (.ts, .js, .mjs) that exports a reward, a file that lists reward sources (.yaml,
 * .json), the directory of a reward model, the name of a rule, or a list of these, whose rewards are added.
 *
 * @example
 * const engine = await loadRewards(['numeric-answer', 'style.ts'])
 */
export async function loadRewards(
  names: RewardNames,
  options: LoadRewardsOptions = {},
): Promise<RewardComputationEngine> {
  return new RewardComputationEngine(await loadRewardOptions(names, options))
}

/** Options of an engine from such names, for callers that create it themselves. */
export async function loadRewardOptions(
  names: RewardNames,
  options: LoadRewardsOptions = {},
): Promise<RewardEngineOptions> {
  const shared = options.tokenizer ? { tokenizer: options.tokenizer } : {}
  const spec = await rewardSpec(names)
  if (!('module' in spec)) return { ...(await openSpec(spec, options)), ...shared }
  const loaded = await openRewardFile(spec.module, fileOptionsOf(options))
  return { ...shared, ...loaded.options }
}

/** The same with sources of a program beside the names: the rewards of all are added. */
export async function loadRewardsBeside(
  names: readonly string[],
  given: RewardEngineOptions,
  options: LoadRewardsOptions = {},
): Promise<RewardEngineOptions> {
  if (names.length === 0) return given
  const loaded = await openSpec(await listSpec(await namedRewards(names)), options)
  const sources = [...(loaded.sources ?? []), ...(given.sources ?? [])]
  return { ...given, sources, weights: { ...loaded.weights, ...given.weights } }
}
