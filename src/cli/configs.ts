/** The configs there are, by the name that `whetstone schema` and the docs have for them. */
import type { z } from 'zod'
import { experienceSchema, resolveExperience } from '../api/index.js'
import { pipelineSchema, resolvePipelineConfig } from '../pipeline/index.js'
import { type Training, trainings } from '../train/index.js'
import { experienceExample } from './experience.js'

type Config = Pick<Training<unknown>, 'schema' | 'example' | 'resolve'>

export const configs: Readonly<Record<string, Config>> = {
  ...Object.fromEntries(Object.values(trainings).map(training => [training.verb.split(' ')[0]!, training as Config])),
  experience: { example: experienceExample, schema: experienceSchema, resolve: resolveExperience },
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
  Object.entries(configs).map(([name, { schema }]) => [name, schema]),
)
