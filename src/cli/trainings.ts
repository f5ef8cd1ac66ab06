/** The kinds of training there are, as commands see them. */
import type { z } from 'zod'
import { pipelineSchema, resolvePipelineConfig } from '../pipeline/index.js'
import {
  algorithms,
  type PreferenceConfig,
  preferenceOtherWords,
  preferencePaths,
  preferenceSchema,
  type RewardModelConfig,
  type RlConfig,
  resolveConfig,
  resolveRlConfig,
  rewardModelIdle,
  rewardModelSchema,
  rewardOtherWords,
  rlIdle,
  rlSchema,
  runPreference,
  runRewardModel,
  runRl,
  runSft,
  type SftConfig,
  sftSchema,
  supervisedIdle,
  supervisedPaths,
  supervisedWords,
} from '../train/index.js'
import type { Training } from './train-command.js'

const useModel = (model: string): readonly string[] => [
  `whetstone chat --model ${model}`,
  `whetstone serve --model ${model}`,
]

export const sftTraining: Training<SftConfig> = {
  verb: 'sft',
  about: `Supervised fine-tuning on conversations, prompts with completions,
or texts. The best checkpoint has the lowest perplexity on validation data.`,
  example: 'model: model\ndata: conversations.jsonl\noutput: runs/sft',
  schema: sftSchema,
  resolve: layers => resolveConfig(sftSchema, layers, { paths: supervisedPaths, words: supervisedWords }),
  idle: supervisedIdle,
  run: runSft,
  next: useModel,
}

export const rewardTraining: Training<RewardModelConfig> = {
  verb: 'reward train',
  about: `Trains a reward model on pairs of answers: the better answer gets the higher score. The best checkpoint
ranks the most held-out pairs correctly.`,
  example: 'model: model\ndata: preferences.jsonl\noutput: runs/reward',
  schema: rewardModelSchema,
  resolve: layers =>
    resolveConfig(rewardModelSchema, layers, {
      paths: supervisedPaths,
      words: supervisedWords,
      otherWords: rewardOtherWords,
    }),
  idle: rewardModelIdle,
  run: runRewardModel,
  next: model => ['to use it as a reward, in a reward file:', `sources: { quality: { type: model, path: ${model} } }`],
}

export const dpoTraining: Training<PreferenceConfig> = {
  verb: 'dpo',
  about: `Trains a model on preferences, without a reward model: dpo, cdpo and ipo on pairs of answers, kto on answers
with a label each. The reference scores all answers once, before the first step.`,
  example: 'model: model\ndata: preferences.jsonl\noutput: runs/dpo',
  schema: preferenceSchema,
  resolve: layers =>
    resolveConfig(preferenceSchema, layers, {
      paths: preferencePaths,
      words: supervisedWords,
      otherWords: preferenceOtherWords,
    }),
  idle: supervisedIdle,
  run: runPreference,
  next: useModel,
}

export const rlTraining: Training<RlConfig> = {
  verb: 'rl',
  about: `Reinforcement learning: the model answers prompts, rewards score the answers, and the model learns from them. \`algorithm\` is a preset
(${algorithms.join(', ')}); the run prints the options it sets, and the config can override them.`,
  example: 'model: model\ndata: prompts.jsonl\nrewards: reward.ts\noutput: runs/rl',
  schema: rlSchema,
  resolve: layers => {
    const { preset, ...resolved } = resolveRlConfig(layers)
    const origin = `preset ${preset}`
    const set = Object.keys(resolved.origins).filter(path => resolved.origins[path] === origin)
    const values = set.map(path => `${path} ${JSON.stringify(valueAt(resolved.config, path))}`)
    return { ...resolved, notes: [`${preset} sets ${values.join(', ').replaceAll('"', '')}`] }
  },
  idle: rlIdle,
  run: runRl,
  next: useModel,
}

function valueAt(config: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config)
}

/** By the name that is typed. */
export const trainings: Readonly<Record<string, Pick<Training<unknown>, 'schema' | 'example' | 'resolve'>>> = {
  sft: sftTraining,
  reward: rewardTraining,
  rl: rlTraining,
  dpo: dpoTraining,
  pipeline: {
    example: `baseModel: model
sftDataPath: conversations.jsonl
rewardDataPath: preferences.jsonl
ppoDataPath: prompts.jsonl
saveDir: runs/rlhf`,
    schema: pipelineSchema,
    resolve: resolvePipelineConfig,
  },
}

export const configSchemas: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(trainings).map(([name, { schema }]) => [name, schema]),
)
