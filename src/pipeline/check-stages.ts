/** Checks everything of all stages before the first one starts: configs, rows, model headers, vocabularies, rewards. */
import { existsSync } from 'node:fs'
import { InputError, WhetstoneError } from '../errors/index.js'
import { readConfig } from '../model/index.js'
import {
  type CheckedData,
  type CheckedModels,
  checkData,
  checkDefinitions,
  checkModels,
  MachineError,
  type PlannedUse,
  type ResolvedConfig,
  requireMachine,
  type Training,
  type TrainingName,
  type TrainingPlan,
  trainings,
} from '../train/index.js'
import type { PipelineConfig } from './config.js'
import { optionNames, type StageConfig, stageConfig } from './stage-configs.js'
import { givenOrMade, type StageName, usesRewardModel } from './stages.js'

export interface CheckedStage {
  readonly stage: StageName
  /** With stand-ins for models that are not made yet. */
  readonly resolved: StageConfig
  readonly plan: TrainingPlan
  readonly models: CheckedModels
  readonly data: readonly CheckedData[]
}

/**
 * Checks the selected stages. For a model that an earlier stage will make, it checks the base model, which has the same shape and
 * tokenizer; a model that no stage makes must exist.
 */
export async function checkStages(
  stages: readonly StageName[],
  pipeline: ResolvedConfig<PipelineConfig>,
  { base, rows, signal }: { base: string | undefined; rows: 'read' | 'encode'; signal: AbortSignal },
): Promise<CheckedStage[]> {
  const { config } = pipeline
  const checked: CheckedStage[] = []
  for (const stage of stages) {
    const model = startOf(stage, stages, config, base)
    const { context } = (await headerOf(stage, model, config)).decoder
    const resolved = stageConfig(stage, pipeline, { model, context })
    const ownRewards = stage === 'ppo' && usesRewardModel(config)
    const rewardModel = ownRewards ? rewardModelOf(stages, config) : undefined
    const scorer = ownRewards ? (rewardModel ?? model) : undefined
    const plan = planStage(resolved, { rewardModel: scorer, rewards: usesRewardModel(config) ? 'own' : 'given' })
    try {
      checkDefinitions(resolved.config)
      if (rewardModel !== undefined) await checkScores(rewardModel, config)
      const models = await checkModels(plan)
      // Find a missing GPU before the earlier stages run.
      requireMachine(models)
      checked.push({
        stage,
        resolved,
        plan,
        models,
        data: await checkData(plan, {
          tokenizer: models.tokenizer,
          ...(rows === 'encode' ? { context } : {}),
          signal,
        }),
      })
    } catch (error) {
      if (!(error instanceof WhetstoneError)) throw error
      const { remedy } = error
      const message = `stage ${stage}: ${inOurWords(error.message, resolved.training)}`
      if (error instanceof MachineError)
        throw new MachineError(message, error.checked, { cause: error, remedy: error.remedy! })
      throw new InputError(message, { cause: error, ...(remedy === undefined ? {} : { remedy }) })
    }
  }
  return checked
}

/** Renames the option at the start of a message to the option of the pipeline: `data` of SFT is `sftDataPath`. */
function inOurWords(message: string, training: TrainingName): string {
  const option = message.match(/^[\w.]+(?=[: ])/)?.[0]
  const ours = Object.entries(optionNames[training]).find(([, name]) => name === option)?.[0]
  return ours === undefined ? message : `${ours}${message.slice(option!.length)}`
}

/** The directory that stands for the model a stage begins with. */
function startOf(
  stage: StageName,
  stages: readonly StageName[],
  config: PipelineConfig,
  base: string | undefined,
): string {
  if (stage === 'sft' || stages.includes('sft')) return base!
  const model = givenOrMade(config, 'sft')
  if (!existsSync(model))
    throw new InputError(`stage ${stage}: needs the model of the SFT stage, and ${model} does not exist`, {
      remedy: 'Run the stage sft too, or set sftModel to an existing model.',
    })
  return model
}

function rewardModelOf(stages: readonly StageName[], config: PipelineConfig): string | undefined {
  if (stages.includes('reward')) return undefined
  const model = givenOrMade(config, 'reward')
  if (!existsSync(model))
    throw new InputError(`stage ppo: needs a reward model, and ${model} does not exist`, {
      remedy:
        'Run the stage reward too, set rewardModel to an existing reward model, or give other rewards (ppo: { rewards }).',
    })
  return model
}

/** Reads the header of the model; errors name the stage. */
async function headerOf(stage: StageName, model: string, { sftModel }: PipelineConfig) {
  try {
    return await readConfig(model)
  } catch (error) {
    if (!(error instanceof WhetstoneError)) throw error
    const option = model === sftModel ? 'sftModel' : 'baseModel'
    throw new InputError(`stage ${stage}: ${option}: ${error.message}`, { cause: error })
  }
}

/** A reward model that a program made has to read the tokens of the policy that it will score. */
export async function checkMadeRewardModel(resolved: StageConfig, sftModel: string): Promise<void> {
  const plan = planStage(resolved, { rewardModel: undefined, rewards: 'own' })
  const policy: PlannedUse = {
    name: 'the policy',
    option: 'sftModel',
    directory: sftModel,
    role: 'language',
    trained: 'nothing',
    computes: 'no',
  }
  await checkModels({ ...plan, models: [policy, { ...plan.models[0], option: 'createRewardModel' }] })
}

/** A language model taken for a reward model would score with a random head. */
async function checkScores(model: string, config: PipelineConfig): Promise<void> {
  const { head } = await readConfig(model)
  if (head === 'score') return
  const option = config.rewardModel === undefined ? '' : 'rewardModel: '
  throw new InputError(`${option}${model} is a language model; expected a reward model (with a score head)`)
}

/** What a stage will open. `rewards: own` are those of the pipeline's reward model, whose description is not written yet. */
function planStage(
  { training, config }: StageConfig,
  { rewardModel, rewards }: { rewardModel: string | undefined; rewards: 'own' | 'given' },
): TrainingPlan {
  const plan = (trainings[training] as Training).plan(config)
  const use = { name: 'the reward model', option: 'rewardModel', role: 'reward', trained: 'nothing' } as const
  const scorer: PlannedUse[] = rewardModel === undefined ? [] : [{ ...use, directory: rewardModel, computes: 'yes' }]
  return {
    ...plan,
    models: [...plan.models, ...scorer],
    rewards: rewards === 'own' ? undefined : plan.rewards,
  }
}
