/** Options of `whetstone experience`, from its config file and `--set`. */
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
  adapter: path.optional().describe('a LoRA adapter of the actor in PEFT format'),
  reference: path
    .optional()
    .describe(
      'the reference: the model that KL is measured to. A directory, or adapter-off (the actor without its adapter)',
    ),
  critic: path.optional().describe('the critic, for gae: a directory'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one)'),
  prompts: path.describe('a file of prompts: JSONL or JSON'),
  promptColumn: z.string().optional().describe('column of the prompts (default: prompt, messages or input)'),
  labelColumn: z.string().optional().describe('column of the labels (default: label)'),
  targetColumn: z.string().optional().describe('column of the targets (default: target, reference or ground_truth)'),
  chatTemplate: dataOptionsShape.chatTemplate,
  rewards: path.describe(
    'a module that exports a reward (.ts, .js), or a file that lists reward sources (.yaml, .json)',
  ),
  ...rewardRunShape,
  output: path.describe('file for the experiences, one line of JSON each'),
  rolloutBatchSize: z.int().min(1).default(128).describe('prompts per batch; advantages are normalised over a batch'),
  generator: generatorSchema
    .prefault({})
    .describe('the engine that generates: type local, vllm or sglang, and urls of servers'),
  klController: klControllerSchema
    .optional()
    .describe('coefficient of the KL to the reference: fixed (coef), or adaptive (coef, target, horizon)'),
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
/** Values of path options that are not paths: standard output, adapter-off, names of templates. */
const words = ['-', 'adapter-off', ...chatTemplateWords]

export interface ExperienceSettings extends ResolvedConfig<ExperienceFile> {}

export async function readExperienceFile(file: string, settings: readonly string[]): Promise<ExperienceSettings> {
  const layers = [fileLayer(file, await readConfigFile(file)), setLayer(settings)]
  const { config, origins } = resolveConfig(schema, layers, {
    paths,
    words,
    otherWords: { engineType: 'generator: { type }', referenceColumn: 'targetColumn' },
  })
  const wrong = generatorOptionProblems(config.generator)
  if (wrong.length > 0) throw new InputError(wrong.map(problem => withOrigin(problem, origins)).join('\n'))
  return { config, origins }
}
