/** The trainings: options, inputs, job and next steps of each. */
import type { z } from 'zod'
import { planRows, type TrainingPlan } from './checks/plan.js'
import type { IdleRule } from './config/idle-options.js'
import { preferenceOtherWords, rewardOtherWords, rlOtherWords } from './config/other-words.js'
import {
  at,
  type ConfigLayer,
  type RawConfig,
  type ResolvedConfig,
  type ResolveOptions,
  resolveConfig,
} from './config/resolve.js'
import type { PreferenceInput, RewardModelInput, RlInput, SftInput } from './options.generated.js'
import { lossNames, type PreferenceConfig, preferencePaths, preferenceSchema } from './preference/config.js'
import { preferenceKind, runPreference } from './preference/job.js'
import { type RewardModelConfig, rewardModelSchema } from './reward-model/config.js'
import { runRewardModel } from './reward-model/job.js'
import { algorithmNames } from './rl/algorithms.js'
import { type RlConfig, resolveRlConfig, rlPaths, rlSchema, rlWords } from './rl/config.js'
import { rlIdle } from './rl/idle-options.js'
import { runRl } from './rl/job.js'
import { planRl } from './rl/training-plan.js'
import type { JobOptions, JobResult } from './run/job.js'
import { withRanks } from './run/with-ranks.js'
import { type SftConfig, sftSchema } from './sft/config.js'
import { runSft } from './sft/job.js'
import { type SupervisedConfig, supervisedPaths, supervisedWords } from './supervised/config.js'
import { rewardModelIdle, supervisedIdle } from './supervised/idle-options.js'

/** Configs by the name that their runs have. */
export interface TrainingConfigs {
  readonly sft: SftConfig
  readonly reward: RewardModelConfig
  readonly preference: PreferenceConfig
  readonly rl: RlConfig
}
/** The same as a person writes them. */
export interface TrainingInputs {
  readonly sft: SftInput
  readonly reward: RewardModelInput
  readonly preference: PreferenceInput
  readonly rl: RlInput
}
export type TrainingName = keyof TrainingConfigs
export type TrainingConfig = TrainingConfigs[TrainingName]

/** A config with notes for the user. */
export type ResolvedTraining<C> = ResolvedConfig<C> & { readonly notes?: readonly string[] }

/** One training. Commands, the pipeline, the demo and the package functions use this to start, plan or explain it. */
export interface Training<C = TrainingConfig> {
  readonly name: TrainingName
  /** The verb on the command line. Its first word names the JSON Schema. */
  readonly verb: string
  /** Verbs that are this training with some of its options set: `grpo` is `rl` with `algorithm: grpo`. */
  readonly kin: Readonly<Record<string, RawConfig>>
  /** The options that most runs set, beside those that have to be given. */
  readonly common: readonly string[]
  /** Options that have to be given too, unless one of those that stand beside them is. */
  readonly unless: Readonly<Record<string, readonly string[]>>
  /** What it does, for the help. */
  readonly about: string
  /** The shortest config. */
  readonly example: string
  readonly schema: z.ZodObject
  /** Options that name files, values of them that are no files, and words of other systems. */
  readonly options: ResolveOptions
  resolve(layers: readonly ConfigLayer[]): ResolvedTraining<C>
  /** When its options have no effect. */
  readonly idle: readonly IdleRule<C>[]
  /** What it will open. */
  plan(config: C): TrainingPlan
  /** Checks everything, then trains. */
  run(job: JobOptions<C>): Promise<JobResult>
  /** What to do with the model in a directory: commands, one per line. */
  next(model: string): readonly string[]
}

const words = (text: string): string[] => text.trim().split(/\s+/)

const commonOfRows: readonly string[] = words(`
  validationShare epochs batchSize maxLength optimizer.lr optimizer.schedule optimizer.warmupRatio
  lora lora.rank gradientCheckpointing tokenBudget device dtype maxSteps evalSteps saveSteps seed`)

const useModel = (model: string): readonly string[] => [
  `whetstone chat --model ${model}`,
  `whetstone serve --model ${model}`,
]

/** Of a training on rows. */
function resolving<C extends SupervisedConfig>(schema: z.ZodObject, given: ResolveOptions = {}) {
  const options = { paths: supervisedPaths, words: supervisedWords, ...given }
  const resolve = (layers: readonly ConfigLayer[]) => resolveConfig(schema, layers, options) as ResolvedConfig<C>
  return { schema, options, resolve }
}

const sft: Training<SftConfig> = {
  name: 'sft',
  verb: 'sft',
  kin: {},
  unless: {},
  common: commonOfRows,
  about: `Supervised fine-tuning on conversations, prompts with completions,
or texts. The best checkpoint has the lowest perplexity on validation data.`,
  example: 'model: model\ndata: conversations.jsonl\noutput: runs/sft',
  ...resolving<SftConfig>(sftSchema),
  idle: supervisedIdle,
  plan: config => planRows(config, { kind: 'conversations', role: 'language' }),
  run: withRanks(runSft),
  next: useModel,
}

const reward: Training<RewardModelConfig> = {
  name: 'reward',
  verb: 'reward train',
  kin: { 'reward-model': {} },
  unless: {},
  common: commonOfRows,
  about: `Trains a reward model on pairs of answers: the better answer gets the higher score. The best checkpoint
ranks the most held-out pairs correctly.`,
  example: 'model: model\ndata: preferences.jsonl\noutput: runs/reward',
  ...resolving<RewardModelConfig>(rewardModelSchema, { otherWords: rewardOtherWords }),
  idle: rewardModelIdle,
  plan: config => planRows(config, { kind: 'preferences', role: 'reward' }),
  run: withRanks(runRewardModel),
  next: model => [
    'to use it as the reward of a training:',
    `whetstone grpo --rewards ${model} --model ... --data ... --output ...`,
  ],
}

const preference: Training<PreferenceConfig> = {
  name: 'preference',
  verb: 'dpo',
  // cdpo needs one more option.
  kin: Object.fromEntries(lossNames.filter(name => !['dpo', 'cdpo'].includes(name)).map(loss => [loss, { loss }])),
  unless: {},
  common: ['beta', ...commonOfRows],
  about: `Trains a model on preferences, without a reward model: dpo, cdpo and ipo on pairs of answers, kto on answers
with a label each. The reference scores all answers once, before the first step.`,
  example: 'model: model\ndata: preferences.jsonl\noutput: runs/dpo',
  ...resolving<PreferenceConfig>(preferenceSchema, { paths: preferencePaths, otherWords: preferenceOtherWords }),
  idle: supervisedIdle,
  plan: config => planRows(config, { kind: preferenceKind(config), role: 'language', reference: config.reference }),
  run: withRanks(runPreference),
  next: useModel,
}

const rl: Training<RlConfig> = {
  name: 'rl',
  verb: 'rl',
  kin: Object.fromEntries(algorithmNames.map(algorithm => [algorithm, { algorithm }])),
  unless: { rewards: ['environment', 'tools'] },
  common: words(`
    validationShare iterations epochs rolloutBatchSize nSamplesPerPrompt trainBatchSize maxNewTokens temperature
    klController.coef optimizer.lr lora lora.rank gradientCheckpointing tokenBudget device dtype saveSteps seed`),
  about: `Reinforcement learning: the model answers prompts, rewards score the answers, and the model learns from them. \`algorithm\` is a
preset (${algorithmNames.join(', ')});
the run prints the options it sets, and the config can override them.`,
  example: 'model: model\ndata: prompts.jsonl\nrewards: reward.ts\noutput: runs/rl',
  schema: rlSchema,
  options: { paths: rlPaths, words: rlWords, otherWords: rlOtherWords },
  resolve: layers => {
    const { preset, ...resolved } = resolveRlConfig(layers)
    const origin = `preset ${preset}`
    const set = Object.keys(resolved.origins).filter(path => resolved.origins[path] === origin)
    const values = set.map(path => `${path} ${JSON.stringify(at(resolved.config, path))}`)
    return { ...resolved, notes: [`${preset} sets ${values.join(', ').replaceAll('"', '')}`] }
  },
  idle: rlIdle,
  plan: planRl,
  run: withRanks(runRl),
  next: useModel,
}

/** By name. */
export const trainings: { readonly [N in TrainingName]: Training<TrainingConfigs[N]> } = { sft, reward, rl, preference }
