/** Rewards described in a file: sources by name, and how they become one. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { schemaProblems } from '../errors/index.js'
import { readConfigFile } from '../files/index.js'
import { placedName } from '../source/index.js'
import { RewardConfigError } from './errors.js'
import { recipeSchema, weightsSchema } from './recipe.js'
import { dialectNames } from './remote/dialects.js'
import { answerPlaces } from './rules/numeric-answer.js'

const limits = {
  batchSize: z.int().min(1).optional(),
  concurrency: z.int().min(1).optional(),
  deadlineMs: z.int().min(1).optional(),
  timeoutMs: z.int().min(1).optional(),
  retries: z.int().min(0).optional(),
}

const text = z.string().min(1)
const rule = <const R extends string, S extends z.ZodRawShape>(name: R, shape: S) =>
  z.strictObject({ type: z.literal('rule'), rule: z.literal(name), ...shape })
const rules = {
  'exact-match': rule('exact-match', {
    answer: z.enum(['whole', 'answer-tag', 'boxed']).optional(),
    letterCase: z.enum(['sensitive', 'insensitive']).optional(),
  }),
  'numeric-answer': rule('numeric-answer', { answer: z.array(z.enum(answerPlaces)).min(1).optional() }),
  format: rule('format', {
    tags: z.array(text).optional(),
    ending: z.enum(['boxed', 'nothing']).optional(),
    outside: z.enum(['allowed', 'forbidden']).optional(),
    openedByPrompt: text.optional(),
    on: z.enum(['response', 'raw']).optional(),
  }),
  length: rule('length', {
    unit: z.enum(['tokens', 'characters', 'words']).optional(),
    min: z.number().min(0).optional(),
    max: z.number().min(0).optional(),
    falloff: z.number().min(0).optional(),
  }),
  pattern: rule('pattern', {
    pattern: text,
    flags: z.string().optional(),
    match: z.enum(['part', 'whole']).optional(),
    on: z.enum(['response', 'raw']).optional(),
  }),
  'json-schema': rule('json-schema', { schema: z.record(z.string(), z.unknown()) }),
  'word-list': rule('word-list', {
    words: z.array(text).min(1),
    penalty: z.number().optional(),
    clean: z.number().optional(),
  }),
}
const ruleSchema = z.discriminatedUnion('rule', [
  rules['exact-match'],
  rules['numeric-answer'],
  rules.format,
  rules.length,
  rules.pattern,
  rules['json-schema'],
  rules['word-list'],
])

const remoteShape = {
  type: z.literal('remote'),
  url: z.union([text, z.array(text).min(1)]),
  dialect: z.enum(dialectNames).optional(),
  model: text.optional(),
  send: z.enum(['text', 'ids', 'messages']).optional(),
  media: z.enum(['send', 'omit']).optional(),
  labelTokenIds: z.array(z.int().min(0)).min(1).optional(),
  /** Name of the environment variable that holds the key: a file is no place for it. */
  apiKeyEnv: text.optional(),
  headers: z.record(z.string(), z.string()).optional(),
  modelVersion: text.optional(),
  contents: z.enum(['raw', 'typed']).optional(),
  /** A PEM file, relative to this one. */
  caFile: text.optional(),
  ...limits,
}
const modelShape = {
  type: z.literal('model'),
  /** A Hugging Face directory of a reward model, relative to this file. */
  path: text,
  /** Default: the device of the run. */
  device: z
    .string()
    .regex(/^(auto|cpu|cuda(:\d{1,3})?)$/, 'expected auto, cpu, cuda or cuda:N')
    .optional(),
  /** Default: the run's on its device, else float32 on the CPU and bfloat16 on a GPU. */
  dtype: z.enum(['float32', 'bfloat16', 'float16']).optional(),
  batchTokens: z.int().min(1).optional(),
}
const functionShape = {
  type: z.literal('function'),
  /** A module, relative to this file. */
  file: text,
}

const sourceSchema = z.discriminatedUnion('type', [
  ruleSchema,
  z.strictObject(remoteShape),
  z.strictObject(modelShape),
  z.strictObject(functionShape),
])

const specShape = {
  sources: z.record(z.string(), sourceSchema).optional(),
  weights: weightsSchema.optional(),
  rewardRecipe: recipeSchema.optional(),
  onRewardFailure: z.enum(['drop', 'stop', 'retry']).optional(),
  failureRetries: z.int().min(0).optional(),
  patienceMinutes: z.number().min(0).optional(),
}
const specSchema = z.strictObject(specShape)
const knownKeys = [
  ...[specShape, remoteShape, modelShape, functionShape].flatMap(shape => Object.keys(shape)),
  ...Object.values(rules).flatMap(({ shape }) => Object.keys(shape)),
]

export type SourceSpec = z.output<typeof sourceSchema>
export type RewardSpec = z.output<typeof specSchema>

/** A description from a YAML or JSON file, checked. */
export async function readSpec(file: string): Promise<RewardSpec> {
  const value = await readConfigFile(file).catch(cause => {
    throw new RewardConfigError((cause as Error).message, { cause })
  })
  const result = specSchema.safeParse(value)
  if (result.success) return result.data
  const messages = schemaProblems(result.error, { known: knownKeys })
  throw new RewardConfigError(`${file}: ${messages.join(`\n${file}: `)}`)
}

/** With absolute paths, and ids of the Hub, in place of names that are relative to the file. */
export function inFolder(spec: RewardSpec, folder: string): RewardSpec {
  const placed = Object.entries(spec.sources ?? {}).map(([name, source]): [string, SourceSpec] => {
    if (source.type === 'model') return [name, { ...source, path: placedName(source.path, 'model', folder) }]
    if (source.type === 'function') return [name, { ...source, file: resolve(folder, source.file) }]
    if (source.type === 'remote' && source.caFile !== undefined)
      return [name, { ...source, caFile: resolve(folder, source.caFile) }]
    return [name, source]
  })
  return { ...spec, ...(spec.sources ? { sources: Object.fromEntries(placed) } : {}) }
}
