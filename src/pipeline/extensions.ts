/** Parts of the pipeline that a program may make itself. */
import type { LocalModel } from '../model/index.js'
import type { Report } from '../progress/index.js'
import type { Tokenizer } from '../text/index.js'
import type { PairLoss, RewardModelConfig } from '../train/index.js'
import type { PipelineConfig } from './config.js'
import type { StageName } from './stages.js'

export interface ExtensionContext {
  readonly config: PipelineConfig
  readonly report: Report
  readonly signal: AbortSignal
}

/**
 * Functions in place of parts. A model may be given as a directory, or as an object, which is then written into `saveDir` and
 * disposed: stages read models from files, so that each can be run alone and resumed. The text of a function is part of what
 * a stage was made from: another one runs the stage again.
 */
export interface PipelineExtensions {
  /** The tokenizer of all stages (default: that of `tokenizerPath`, or the base model's). Its files go with every model. */
  readonly loadTokenizer?: (context: ExtensionContext) => Promise<Tokenizer>
  /** The model that SFT begins with (default: `baseModel`). */
  readonly loadBaseModel?: (
    context: ExtensionContext & { readonly tokenizer: Tokenizer | undefined },
  ) => Promise<string | LocalModel<'language'>>
  /** The model that reward training begins with (default: what SFT made, with a new head). */
  readonly createRewardModel?: (
    context: ExtensionContext & { readonly sftModel: string },
  ) => Promise<string | LocalModel<'reward'>>
  /** The loss of pairs (default: the ranking loss). Called once, with the reward stage's config. */
  readonly createPreferenceLoss?: (config: RewardModelConfig) => PairLoss
}

/** Functions of a program that take part in a stage's training. */
export function stageFunctions(stage: StageName, { createPreferenceLoss, createRewardModel }: PipelineExtensions) {
  return stage === 'reward' ? { createPreferenceLoss, createRewardModel } : {}
}
