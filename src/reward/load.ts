import { resolve } from 'node:path'
import type { DType } from '../tensor/index.js'
import type { Tokenizer } from '../text/index.js'
import { RewardComputationEngine } from './engine.js'
import type { RewardEngineOptions } from './engine-options.js'
import { RewardConfigError } from './errors.js'
import { fileOptionsOf, openRewardFile } from './process/reward-file.js'
import { readSpec } from './spec.js'

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
  /** Ends the loading of a file. */
  readonly signal?: AbortSignal | undefined
}

/**
 * An engine from a file: a module (.ts, .js, .mjs) that exports a reward, or a file that lists reward sources (.yaml, .json).
 *
 * @example
 * const engine = await loadRewards('rewards.yaml')
 */
export async function loadRewards(file: string, options: LoadRewardsOptions = {}): Promise<RewardComputationEngine> {
  return new RewardComputationEngine(await loadRewardOptions(file, options))
}

/** Options of an engine from such a file, for callers that create it themselves. */
export async function loadRewardOptions(file: string, options: LoadRewardsOptions = {}): Promise<RewardEngineOptions> {
  const path = resolve(file)
  const shared = options.tokenizer ? { tokenizer: options.tokenizer } : {}
  if (/\.(ya?ml|json)$/i.test(file)) return { ...(await readSpec(path, options)), ...shared }
  if (!/\.[cm]?[jt]s$/i.test(file))
    throw new RewardConfigError(
      `${file}: expected a module (.ts, .js, .mjs) or a file that lists reward sources (.yaml, .json)`,
    )
  const loaded = await openRewardFile(path, fileOptionsOf(options))
  return { ...shared, ...loaded.options }
}
