/** The configs there are, by the name that `whetstone schema`, `whetstone new` and the docs have for them. */
import type { z } from 'zod'
import { experienceOptions, experienceSchema, resolveExperience } from '../api/index.js'
import { pipelineReading, pipelineSchema, resolvePipelineConfig } from '../pipeline/index.js'
import { algorithmNames, algorithmOf, type RawConfig, type Training, trainings } from '../train/index.js'

type Config = Pick<
  Training<unknown>,
  'verb' | 'schema' | 'example' | 'resolve' | 'options' | 'common' | 'unless' | 'kin'
> & {
  /** The page of the docs that explains it. */
  readonly page: string
}

const experience: Config = {
  verb: 'experience',
  kin: {},
  unless: {},
  common: [
    ...['advantageEstimator', 'nSamplesPerPrompt', 'maxNewTokens', 'temperature', 'rolloutBatchSize', 'reference'],
    ...['critic', 'adapter', 'device', 'seed'],
  ],
  example: `model: model
data: prompts.jsonl
rewards: reward.ts
output: experiences.jsonl
advantageEstimator: reinforce`,
  schema: experienceSchema,
  options: experienceOptions,
  resolve: resolveExperience,
  page: 'docs/experience.md',
}

const pipeline: Config = {
  verb: 'pipeline',
  kin: {},
  unless: {},
  common: [
    ...['algorithm', 'sftEpochs', 'sftLr', 'rewardEpochs', 'rewardLr', 'ppoIterations', 'ppoLrPolicy', 'ppoBatchSize'],
    ...['device', 'seed'],
  ],
  example: `baseModel: model
sftDataPath: conversations.jsonl
rewardDataPath: preferences.jsonl
ppoDataPath: prompts.jsonl
saveDir: runs/rlhf`,
  schema: pipelineSchema,
  options: pipelineReading,
  resolve: resolvePipelineConfig,
  page: 'docs/pipeline.md',
}

export const configs: Readonly<Record<string, Config>> = {
  ...Object.fromEntries(
    Object.values(trainings).map(training => [
      training.verb.split(' ')[0]!,
      { ...(training as Training<unknown>), page: 'docs/training.md' },
    ]),
  ),
  experience,
  pipeline,
}

export const configSchemas: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(configs).map(([name, { schema }]) => [name, schema]),
)

/** A config of a verb, with what the verb sets. */
export interface ConfigKind extends Config {
  readonly kind: string
  /** Options that the verb sets. */
  readonly set: RawConfig
  /** What its algorithm sets in place of defaults. */
  readonly preset: RawConfig
}

/** `grpo` is a config of `rl`. */
export function configKind(name: string): ConfigKind | undefined {
  const kind = name.replaceAll('-', '_')
  for (const [own, config] of Object.entries(configs)) {
    const found = [own, ...Object.keys(config.kin)].find(one => one === name || one === kind)
    if (found === undefined) continue
    const set = config.kin[found] ?? {}
    const algorithm = algorithmNames.find(one => one === (set.algorithm ?? (own === 'rl' ? 'grpo' : undefined)))
    const verb = found in config.kin ? found : config.verb
    return { ...config, verb, kind: found, set, preset: algorithm ? algorithmOf(algorithm).set : {} }
  }
  return undefined
}

export const configKinds: readonly string[] = Object.entries(configs).flatMap(([name, { kin }]) => [
  name,
  ...Object.keys(kin),
])
