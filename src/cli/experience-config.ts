/** What `whetstone experience` is told by its config file and `--set`. */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { dataOptionsShape } from '../data/index.js'
import { InputError, schemaProblems } from '../errors/index.js'
import { experienceShape, klControllerSchema } from '../experience/index.js'
import { readConfigFile } from '../files/index.js'
import { devicePattern, expectedDevice } from '../tensor/index.js'
import { chatTemplateWords } from '../text/index.js'
import { engineTypes, generatorOptionProblems, generatorSchema, rewardRunShape } from '../train/index.js'
import { UsageError } from './flags.js'

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
  engineType: z.enum(engineTypes).optional().describe('another name of generator.type'),
  klController: klControllerSchema.optional().describe('fixed (coef), or adaptive (coef, target, horizon)'),
}

const schema = z.strictObject({ ...experienceFileShape, ...experienceShape })
export type ExperienceFile = z.output<typeof schema>

/** Paths in a config file are relative to it. */
const pathNames = ['model', 'adapter', 'critic', 'prompts', 'rewards'] as const

export async function readExperienceFile(file: string, settings: readonly string[]): Promise<ExperienceFile> {
  const read = await readConfigFile(file)
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new InputError(`${file}: expected options by name, such as "model: DIR"`)
  const given: Record<string, unknown> = { ...read, ...Object.fromEntries(settings.map(parseSetting)) }
  const result = schema.safeParse(given)
  const describe = (key: string): string | undefined => schema.shape[key as keyof typeof schema.shape]?.description
  if (!result.success) {
    const problems = schemaProblems(result.error, { known: Object.keys(schema.shape), describe })
    throw new InputError(`${file}: ${problems.join(`\n${file}: `)}`)
  }
  const wrong = generatorOptionProblems(result.data.generator, result.data.engineType)
  if (wrong.length > 0) throw new InputError(`${file}: ${wrong.join(`\n${file}: `)}`)
  const folder = dirname(resolve(file))
  const resolved = { ...result.data }
  resolved.generator = { ...resolved.generator, type: resolved.engineType ?? resolved.generator.type }
  for (const name of pathNames) {
    const value = resolved[name]
    if (value !== undefined) resolved[name] = resolve(folder, value)
  }
  if (!(chatTemplateWords as readonly string[]).includes(resolved.chatTemplate))
    resolved.chatTemplate = resolve(folder, resolved.chatTemplate)
  // `-` and devices are not files beside the config.
  if (!/^(-$|\/)/.test(resolved.output)) resolved.output = resolve(folder, resolved.output)
  if (resolved.reference !== undefined && resolved.reference !== 'adapter-off')
    resolved.reference = resolve(folder, resolved.reference)
  return resolved
}

/** `key=value`; the value is JSON where it can be, and text otherwise. */
function parseSetting(setting: string): [string, unknown] {
  const at = setting.indexOf('=')
  if (at < 1) throw new UsageError(`--set: expected key=value, got "${setting}"`)
  const [key, text] = [setting.slice(0, at), setting.slice(at + 1)]
  try {
    return [key, JSON.parse(text)]
  } catch {
    return [key, text]
  }
}
