/** Parts of the pipeline that a program may make itself. */
import { didYouMean, InputError } from '../errors/index.js'
import type { PairLoss } from '../maths/index.js'
import { LocalModel, type Role } from '../model/index.js'
import type { Report } from '../progress/index.js'
import { Tokenizer } from '../text/index.js'
import type { RewardModelConfig } from '../train/index.js'
import type { PipelineConfig } from './config.js'
import type { StageName } from './stages.js'

export interface ExtensionContext {
  readonly config: PipelineConfig
  readonly report: Report
  readonly signal: AbortSignal
}

/**
 * Functions that replace parts. A model may be a directory, or an object, which is written into `saveDir` and then disposed:
 * stages read models from files, so that each can run alone and resume. The source text of a function is an input of its stage: a
 * changed function runs the stage again.
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

export const extensionNames = ['loadTokenizer', 'loadBaseModel', 'createRewardModel', 'createPreferenceLoss'] as const

/** A misspelt function would never be called. */
export function checkExtensions(extensions: Readonly<Record<string, unknown>>): void {
  for (const [name, given] of Object.entries(extensions)) {
    if (!(extensionNames as readonly string[]).includes(name))
      throw new InputError(`there is no setting "${name}"${didYouMean(name, [...extensionNames, 'report', 'layers'])}`)
    if (given !== undefined && typeof given !== 'function') throw new InputError(`${name}: expected a function`)
  }
}

/** What a function gave is a model, or the directory of one. */
export function checkModel<R extends Role>(name: string, made: string | LocalModel<R>): string | LocalModel<R> {
  if (typeof made === 'string' || made instanceof LocalModel) return made
  throw new InputError(`${name}: expected the directory of a model, or a LocalModel; got ${typeof made}`)
}

export function checkTokenizer(made: Tokenizer): Tokenizer {
  if (made instanceof Tokenizer) return made
  throw new InputError(`loadTokenizer: expected a Tokenizer, such as Tokenizer.load(DIR) gives; got ${typeof made}`)
}

/** A loss whose gradients are of another number of pairs would train on nonsense. */
export function checkLoss(loss: PairLoss): PairLoss {
  if (typeof loss !== 'function') throw new InputError(`createPreferenceLoss: expected a function; got ${typeof loss}`)
  return call => {
    const result = loss(call)
    if (typeof result?.value !== 'number' || result.gradients?.length !== call.samples.length || !result.statistics)
      throw new InputError(
        `createPreferenceLoss: expected {value, gradients, statistics} with gradients of ${call.samples.length} pairs`,
        { remedy: "losses['reward-model'].compute gives them; docs/losses.md has an example." },
      )
    return result
  }
}

/** Functions of a program that take part in a stage's training. */
export function stageFunctions(stage: StageName, { createPreferenceLoss, createRewardModel }: PipelineExtensions) {
  return stage === 'reward' ? { createPreferenceLoss, createRewardModel } : {}
}
