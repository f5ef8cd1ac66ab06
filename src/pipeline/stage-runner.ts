/** Runs one stage: skip, resume, repeat or start it. */

import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { InputError } from '../errors/index.js'
import { writeFileAtomic } from '../files/index.js'
import { readConfig } from '../model/index.js'
import type { Report } from '../progress/index.js'
import { metricText } from '../run/index.js'
import { resolveDevice } from '../tensor/index.js'
import type { Tokenizer } from '../text/index.js'
import {
  type Best,
  type JobResult,
  type ResolvedConfig,
  type RewardModelConfig,
  type Training,
  type TrainingName,
  trainings,
} from '../train/index.js'
import { writtenModel } from './base-model.js'
import { type CheckedStage, checkMadeRewardModel } from './check-stages.js'
import type { PipelineConfig } from './config.js'
import { checkLoss, checkModel, type PipelineExtensions, stageFunctions } from './extensions.js'
import { directoryFingerprint } from './fingerprints.js'
import { rewardDevice, type SampleLog } from './sample-log.js'
import { areAllowed, changedError, stageChanges } from './stage-changes.js'
import { rewardsFile, type StageConfig, stageConfig } from './stage-configs.js'
import { stageInputs } from './stage-inputs.js'
import { keepStageLogs, type PipelineLog } from './stage-logs.js'
import { readStageRecord, type StageRecord, writeStageRecord } from './stage-record.js'
import { setAside, stageState } from './stage-state.js'
import { givenOrMade, type StageName, stageDirectory, stageModel, usesRewardModel } from './stages.js'

export interface StageResult {
  readonly stage: StageName
  /** `skipped`: it was done already, from the same inputs. `stopped`: by the signal; it can be resumed. */
  readonly outcome: 'finished' | 'skipped' | 'stopped'
  /** The run directory. */
  readonly directory: string
  /** The directory of the resulting model. */
  readonly model: string
  /** Optimiser steps behind the weights. */
  readonly step: number
  /** The last value of each metric. */
  readonly metrics: Readonly<Record<string, number>>
  readonly best?: Best
}

/** What the state of a stage follows from. */
interface StageOrigin {
  readonly pipeline: ResolvedConfig<PipelineConfig>
  readonly extensions: PipelineExtensions
  /** The model that SFT begins with. */
  readonly base: string
  readonly resume: boolean
  readonly report: Report
  readonly signal: AbortSignal
}

interface StageSurroundings extends StageOrigin {
  /** Options that a resumed stage may have otherwise. */
  readonly allowChange: readonly string[]
  readonly samples: SampleLog
  readonly log: PipelineLog
}

/** The reward model that the last stage scores with, if it is one. */
const scorerOf = (stage: StageName, config: PipelineConfig): string | undefined =>
  stage === 'ppo' && usesRewardModel(config) ? givenOrMade(config, 'reward') : undefined

/** The inputs of a stage, and whether a run in its directory has the same. An unfinished one is refused unless it is resumed. */
async function inspectStage({ stage, models: { tokenizer }, data }: CheckedStage, around: StageOrigin) {
  const { pipeline, extensions, resume } = around
  const { config } = pipeline
  const directory = stageDirectory(config, stage)
  const start = await startOf(stage, tokenizer, around)
  const { context } = (await readConfig(start)).decoder
  const resolved = stageConfig(stage, pipeline, { model: start, context })
  if (stage === 'reward' && extensions.createRewardModel)
    await checkMadeRewardModel(resolved, givenOrMade(config, 'sft'))
  const functions = stageFunctions(stage, extensions)
  const inputs = await stageInputs(resolved, { data, rewardModel: scorerOf(stage, config), functions })
  const state = await stageState(directory, stageModel(config, stage), inputs)
  if (state.kind === 'unfinished' && !resume)
    throw new InputError(`${directory}: this stage was started and not finished`, {
      remedy: 'Resume it with --resume (resume: true), or move its directory away to start again.',
    })
  return { start, resolved, inputs, state }
}

/** A dry run refuses an unfinished stage as a run does, if no earlier stage has to run before it. */
export async function refuseUnfinished(checked: readonly CheckedStage[], around: StageOrigin): Promise<void> {
  const { config } = around.pipeline
  for (const one of checked) {
    if ((await readStageRecord(stageDirectory(config, one.stage))) === undefined) return
    if (one.stage === 'reward' && around.extensions.createRewardModel) return
    if ((await inspectStage(one, around)).state.kind !== 'current') return
  }
}

export async function runStage(checked: CheckedStage, around: StageSurroundings): Promise<StageResult> {
  const { stage } = checked
  const { pipeline, resume, allowChange, samples, log, signal } = around
  const { config } = pipeline
  const directory = stageDirectory(config, stage)
  const model = stageModel(config, stage)
  const rewardModel = scorerOf(stage, config)
  const result = (outcome: StageResult['outcome'], { step = 0, metrics = {}, best }: Came): StageResult => ({
    ...{ stage, outcome, directory, model, step, metrics },
    ...(best ? { best } : {}),
  })
  const { start, resolved, inputs, state } = await inspectStage(checked, around)
  if (state.kind === 'current') {
    await log.write('info', `${stage}: already done with the same config, data and models`)
    return result('skipped', state.record)
  }
  const changes = state.kind === 'stale' ? stageChanges(stage, resolved.training, state.changed) : []
  const names = [...new Set(changes.map(({ name }) => name))].join(', ')
  const goesOn = state.kind === 'unfinished' || (state.kind === 'stale' && resume && areAllowed(changes, allowChange))
  if (state.kind === 'stale' && goesOn) await log.write('warning', `${stage}: resumes with a changed ${names}`)
  else if (state.kind === 'stale') {
    // If the initial model changed, for example by an earlier stage, there is nothing to resume.
    if (resume && state.status === 'started' && !changes.some(({ kind }) => kind === 'model'))
      throw changedError(directory, changes)
    const place = await setAside(directory)
    await log.write('warning', `${stage}: ${names} changed; the old results are in ${place}`)
  }

  // The training.
  await writeStageRecord(directory, { version: 1, status: 'started', inputs })
  if (rewardModel !== undefined) await describeRewards(config, rewardModel)
  if (stage !== 'reward') await samples.keep(stage === 'sft' ? 'base' : 'sft', start, { rewardModel, signal })
  await log.write('info', `${stage}: ${config.modelName}, ${resolved.training} from ${start} into ${directory}`)
  await log.write('debug', `${stage}: options ${JSON.stringify(resolved.config)}`)
  await log.write('debug', `${stage}: made from ${JSON.stringify({ data: inputs.data, models: inputs.models })}`)
  const job = await train({ ...resolved, resume: goesOn }, around)
  await keepStageLogs(config.saveDir, directory)
  if (job.outcome === 'stopped') return result('stopped', job)

  if (job.step === 0)
    throw new InputError(`${directory}: the ${stage} stage trained nothing`, {
      remedy: `The reasons are in ${join(directory, 'logs/skipped.jsonl')}.`,
    })

  // Samples after the stage. A reward model generates nothing: it scores the samples of SFT.
  const speaker = stage === 'reward' ? givenOrMade(config, 'sft') : model
  const name = { sft: 'sft', reward: 'reward_model', ppo: config.algorithm }[stage]
  await samples.keep(name, speaker, { rewardModel: stage === 'reward' ? model : rewardModel, signal })
  const made = await directoryFingerprint(model)
  if (made === undefined) throw new InputError(`${model}: the ${stage} stage ended without writing it`)
  const { step, metrics, best } = job
  const record: StageRecord = { version: 1, status: 'finished', inputs, model: made, step, metrics: { ...metrics } }
  await writeStageRecord(directory, best ? { ...record, best } : record)
  await log.write(
    'info',
    `${stage}: ${model} after ${step} steps${best ? `, best ${shown(best, resolved.training)}` : ''}`,
  )
  return result('finished', job)
}

/** What a training came to, as it or its record has it. */
interface Came {
  readonly step?: number | undefined
  readonly metrics?: Readonly<Record<string, number>> | undefined
  readonly best?: Best | undefined
}

const shown = ({ metric, value, step }: Best, training: TrainingName): string =>
  `${metric} ${metricText(metric, value)} at ${training === 'rl' ? 'iteration' : 'step'} ${step}`

/** The directory that a stage's model begins as. */
async function startOf(
  stage: StageName,
  tokenizer: Tokenizer,
  { pipeline: { config }, extensions, base, resume, report, signal }: StageOrigin,
): Promise<string> {
  if (stage === 'sft') return base
  const { createRewardModel } = extensions
  const sftModel = givenOrMade(config, 'sft')
  if (stage !== 'reward' || !createRewardModel) return sftModel
  const into = join(config.saveDir, 'initial_reward_model')
  if (resume && existsSync(join(into, 'config.json'))) return into
  const made = checkModel('createRewardModel', await createRewardModel({ config, report, signal, sftModel }))
  return typeof made === 'string' ? made : writtenModel(made, tokenizer, into)
}

/** The pipeline's own reward model as a description of rewards, which the last stage reads. */
async function describeRewards(config: PipelineConfig, rewardModel: string): Promise<void> {
  // Where the stage has ranks, so has its reward model, unless its section names a device.
  const own = config.devices === undefined || config.reward.device !== undefined
  const device = own ? { device: resolveDevice(rewardDevice(config)) } : {}
  const path = relative(stageDirectory(config, 'ppo'), rewardModel)
  const description = { sources: { reward_model: { type: 'model', path, ...device } } }
  await writeFileAtomic(rewardsFile(config), `${JSON.stringify(description, undefined, 2)}\n`)
}

function train(
  { resume, training, ...resolved }: StageConfig & { readonly resume: boolean },
  { report, signal, extensions }: StageSurroundings,
): Promise<JobResult> {
  const { schema, run }: Training = trainings[training]
  // The inputs of the stage already decided what may differ; the other options are harmless.
  const allowChange = [...Object.keys(schema.shape), 'dataset']
  return run({ ...resolved, resume, allowChange, report, signal, live: { createLoss: lossOf(extensions) } })
}

function lossOf({ createPreferenceLoss: create }: PipelineExtensions) {
  return create && ((config: RewardModelConfig) => checkLoss(create(config)))
}
