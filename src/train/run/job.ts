/** Options and results of a training job; commands and the pipeline only use this. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DataReport } from '../../data/index.js'
import type { Ranks } from '../../distributed/index.js'
import type { Environment } from '../../environment/index.js'
import type { PairLoss } from '../../maths/index.js'
import type { MultimodalProcessor, TokenModel } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import type { RewardEngineOptions } from '../../reward/index.js'
import type { Generator } from '../../rollout/index.js'
import { metricText, type Run, type RunInputs, type RunOptions } from '../../run/index.js'
import type { Commits } from '../../source/index.js'
import { NonFiniteGradientError } from '../../tensor/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { CheckedModels } from '../checks/check-plan.js'
import type { TooLong } from '../checks/count-lengths.js'
import type { RewardModelConfig } from '../reward-model/config.js'
import { TrainingError } from './errors.js'
import { eventOf, type TrainingEvent } from './events.js'

/** Live objects that replace entries of the config. The run does not dispose models. */
export interface LiveParts {
  readonly model?: TokenModel | undefined
  readonly reference?: TokenModel<'language'> | undefined
  readonly critic?: TokenModel<'value'> | undefined
  /** In place of the one in the model's directory. */
  readonly tokenizer?: Tokenizer | undefined
  /** Of a vision-language model, in place of the one in the model's directory. */
  readonly processor?: MultimodalProcessor | undefined
  readonly generator?: Generator | undefined
  readonly rewards?: RewardEngineOptions | undefined
  /** Names of rewards that stand beside `rewards`: files, rules, reward models. */
  readonly rewardNames?: readonly string[] | undefined
  readonly environment?: Environment | undefined
  /** The loss of pairs of a reward model, in place of the ranking loss. It is called once, with the config. */
  readonly createLoss?: ((config: RewardModelConfig) => PairLoss) | undefined
}

export interface JobOptions<C> {
  readonly config: C
  /** Where each option came from, by dotted path. */
  readonly origins: Readonly<Record<string, string>>
  /** Go on with the run in the output directory. */
  readonly resume: boolean
  /** Options that a resumed run may change although they affect the training. */
  readonly allowChange: readonly string[]
  readonly report: Report
  /** A soft stop: the current optimiser step is finished, a checkpoint saved. */
  readonly signal: AbortSignal
  /** Of the models and data sets of the Hub that the paths in the config are of. */
  readonly commits?: Commits
  /** `check`: a dry run, which starts no ranks. Default: train. */
  readonly purpose?: 'train' | 'check'
  /** The ranks that get a copy of each model. Default: as the config says. */
  readonly ranks?: Ranks
  /** What a program gives in place of what the config names. */
  readonly live?: LiveParts
  /** Told what happens. */
  readonly onEvent?: ((event: TrainingEvent) => void) | undefined
  /**
   * Called once after all checks, before anything is written: a dry run stops there. Default: train. A dry run and a run go the
   * same way, so they refuse the same configs.
   */
  readonly onChecked?: (checked: CheckedTraining) => 'train' | 'stop' | Promise<'train' | 'stop'>
}

/** The part of a run's options that tells a program what is logged. */
export function watched({ onEvent }: Pick<JobOptions<unknown>, 'onEvent'>): Pick<RunOptions, 'onLog'> {
  if (!onEvent) return {}
  return {
    onLog: entry => {
      const event = eventOf(entry)
      if (event) onEvent(event)
    },
  }
}

/** The inputs of a run, with the commits of those that came from the Hub. */
export function withCommits(inputs: RunInputs, commits: Commits = {}): RunInputs {
  const all: Record<string, Readonly<Record<string, string>>> = { ...inputs }
  for (const [option, names] of Object.entries(commits)) all[option] = { ...all[option], ...names }
  return all
}

/** What the checks before a training found. */
export interface CheckedTraining {
  readonly models: CheckedModels
  readonly data: readonly DataReport[]
  /** Encodes every row, and counts those that are too long: a number for each of `data`. */
  countTooLong(): Promise<readonly TooLong[]>
}

/** The value that decided which model was the best. */
export interface Best {
  readonly step: number
  readonly metric: string
  readonly value: number
}

/** For people, where no checkpoint was better than the model that the run started with. */
export function startIsBest({ metric, value }: Best, keep: 'models' | 'adapters' = 'models'): string {
  const name = keep === 'adapters' ? 'best_adapter' : 'best_model'
  return `No checkpoint is better than the start (${metric} ${metricText(metric, value)}): ${name} is the model before training.`
}

export interface JobResult {
  /** `stopped`: by the signal; the run can be resumed. */
  readonly outcome: 'finished' | 'stopped'
  /** Optimiser steps behind the weights. */
  readonly step: number
  /** The last value of each metric. */
  readonly metrics: Readonly<Record<string, number>>
  readonly best?: Best
  /** The run directory. */
  readonly directory: string
}

/** Not caused by a single row: see `namingRows`. */
function divergedError(error: NonFiniteGradientError): TrainingError {
  return new TrainingError(error.message, {
    cause: error,
    remedy: 'Try a lower learning rate, a smaller lora.alpha or a smaller maxGradNorm.',
  })
}

/** Of a job that was only to be checked. */
export function checkedOnly(directory: string): JobResult {
  return { outcome: 'stopped', step: 0, metrics: {}, directory }
}

/** Directories of models that a run writes, and of adapters where it keeps adapters alone. */
const modelNames = ['final', 'best', 'value', 'ema'].map(name => [`${name}_model`, `${name}_adapter`])

/** Trains within a run that is open, and closes it with what came of it. */
export async function withinRun(
  run: Run,
  { signal, ranks }: Pick<JobOptions<unknown>, 'signal' | 'ranks'>,
  train: () => Promise<JobResult>,
): Promise<JobResult> {
  try {
    const result = await train()
    if (ranks?.failure && result.outcome === 'stopped') throw ranks.failure
    for (const names of modelNames) {
      const name = names.find(one => existsSync(join(run.directory, one)))
      if (name !== undefined) run.artifact(name, 'model')
    }
    await run.close(result.outcome)
    return result
  } catch (error) {
    // A stop while models were being loaded: nothing was trained, and nothing is lost.
    if (signal.aborted && error === signal.reason && !ranks?.failure) {
      const step = (await run.latest())?.step ?? 0
      await run.close('stopped')
      return { outcome: 'stopped', step, metrics: {}, directory: run.directory }
    }
    const cause = ranks?.failure ?? error
    const shown = cause instanceof NonFiniteGradientError ? divergedError(cause) : cause
    await run.close('failed', shown).catch(() => {})
    throw shown
  }
}
