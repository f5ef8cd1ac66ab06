/** What `whetstone experience` is told by its config file and `--set`. */
import { z } from 'zod'
import { dataOptionsShape } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { experienceShape } from '../experience/index.js'
import { readConfigFile } from '../files/index.js'
import { klControllerSchema } from '../maths/index.js'
import { devicePattern, expectedDevice } from '../tensor/index.js'
import { chatTemplateWords } from '../text/index.js'
import {
  fileLayer,
  generatorOptionProblems,
  generatorSchema,
  type ResolvedConfig,
  resolveConfig,
  rewardRunShape,
  withOrigin,
} from '../train/index.js'
import { setLayer } from './set-layer.js'

const path = z.string().min(1)

export const experienceFileShape = {
  model: path.describe('the actor: a Hugging Face model directory'),
  adapter: path.optional().describe("a LoRA adapter of the actor, in PEFT's format"),
  reference: path
    .optional()
    .describe('the model KL is measured to: a directory, or adapter-off for the actor without its adapter'),
  critic: path.optional().describe('the critic, for gae: a directory'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('where models run: cpu, cuda, cuda:N, or auto for a GPU where there is one'),
  prompts: path.describe('a file of prompts: JSONL or JSON'),
  promptColumn: z.string().optional().describe('its column of prompts (default: prompt, messages or input)'),
  labelColumn: z.string().optional().describe('its column of labels (default: label)'),
  referenceColumn: z.string().optional().describe('its column of references (default: reference, or ground_truth)'),
  chatTemplate: dataOptionsShape.chatTemplate,
  rewards: path.describe('a module that exports a reward (.ts, .js), or a description of sources (.yaml, .json)'),
  ...rewardRunShape,
  output: path.describe('a file for the experiences, one line of JSON each'),
  rolloutBatchSize: z.int().min(1).default(128).describe('prompts of a batch; advantages are normalised over it'),
  generator: generatorSchema.prefault({}).describe('what generates: type local, vllm or sglang, and urls of servers'),
  klController: klControllerSchema.optional().describe('fixed (coef), or adaptive (coef, target, horizon)'),
}

const schema = z.strictObject({ ...experienceFileShape, ...experienceShape })
export type ExperienceFile = z.output<typeof schema>

/** Options that name files or directories; those in a config file are relative to it. */
const paths = [
  'model',
  'adapter',
  'reference',
  'critic',
  'prompts',
  'rewards',
  'output',
  'chatTemplate',
  'generator.weightsDirectory',
]
/** Values of them that are no paths: standard output, the actor itself, templates by name. */
const words = ['-', 'adapter-off', ...chatTemplateWords]

export interface ExperienceSettings extends ResolvedConfig<ExperienceFile> {}

export async function readExperienceFile(file: string, settings: readonly string[]): Promise<ExperienceSettings> {
  const layers = [fileLayer(file, await readConfigFile(file)), setLayer(settings)]
  const { config, origins } = resolveConfig(schema, layers, {
    paths,
    words,
    otherWords: { engineType: 'generator: { type }' },
  })
  const wrong = generatorOptionProblems(config.generator)
  if (wrong.length > 0) throw new InputError(wrong.map(problem => withOrigin(problem, origins)).join('\n'))
  return { config, origins }
}
