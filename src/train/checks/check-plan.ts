/** Compares the plan of a training with its files: model headers, every row of data, rewards. */
import { existsSync } from 'node:fs'
import {
  DataError,
  type DataReport,
  type DataSpec,
  type Dataset,
  dataOptionsSchema,
  type ExampleKind,
  type ExampleSet,
  isPartOfFolder,
  openDataset,
  type PromptRow,
  whyEmpty,
} from '../../data/index.js'
import { type DeviceChoice, launchedRank, plannedRanks } from '../../distributed/index.js'
import { InputError, refuse } from '../../errors/index.js'
import { promptLimit } from '../../experience/index.js'
import { inspectAdapter, inspectModel, type ModelConfig, type Projection, type Role } from '../../model/index.js'
import { loadRewards, namedRewardModels, namedRewards, rewardDirectory, rewardModelPlace } from '../../reward/index.js'
import { deviceSequences, engineDtypeProblem } from '../../rollout/index.js'
import type { Commits } from '../../source/index.js'
import { cudaDevice, type Device, type DType, resolveDevice } from '../../tensor/index.js'
import { ChatTemplateError, Tokenizer, tokenizerFingerprint } from '../../text/index.js'
import { generationCacheShare } from '../run/open-generator.js'
import { checkGenerator } from './check-generator.js'
import { countTooLong, encodeHeldOut, type TooLong } from './count-lengths.js'
import { type BatchSize, largestBatch, type SequenceLength } from './largest-batch.js'
import {
  cacheBytes,
  estimateModel,
  keptBytes,
  type ModelMemory,
  mergedBytes,
  type PlannedModel,
} from './memory-estimate.js'
import type { PlannedUse, TrainingPlan } from './plan.js'

/** A model that fits. */
export interface CheckedModel {
  readonly use: PlannedUse
  readonly config: ModelConfig
  readonly parameters: number
  readonly memory: ModelMemory
}

export interface CheckedModels {
  readonly models: readonly CheckedModel[]
  readonly tokenizer: Tokenizer
  readonly device: Device
  /** As the config says it. */
  readonly choice: DeviceChoice
  /** Ranks, each with a copy of the models, and how many of them are on one device. */
  readonly ranks: number
  readonly sharing: number
  readonly dtype: DType
  /** The largest batch of a step. */
  readonly batch: BatchSize
  /** Bytes of the KV cache, where something is generated. */
  readonly cache: number
  /**
   * Bytes on the training's device at the peak, of all ranks there: what is kept, and the work space of the model that needs the most. Models compute one
   * after another.
   */
  readonly together: number
  /** The same with the memory of batches of these rows: of every training row, or of every prompt. */
  readonly forRows?: (rows: readonly SequenceLength[]) => CheckedModels
}

/**
 * Checks that the models can be loaded, have the same tokenizer and fit the sequences, and computes their memory. Reads no
 * weights.
 */
export async function checkModels(
  plan: TrainingPlan,
  { tokenizer: given, commits }: { tokenizer?: Tokenizer | undefined; commits?: Commits | undefined } = {},
): Promise<CheckedModels> {
  const device = resolveDevice(plan.device)
  const dtype = plan.dtype ?? (device === 'cpu' ? 'float32' : 'bfloat16')
  await checkFiles(plan)
  const unknown = plan.generation?.engine === 'here' ? engineDtypeProblem(device, dtype) : undefined
  if (unknown) throw new InputError(`dtype: ${unknown}; set dtype to one of them, or generate with a server`)
  const found: { use: PlannedUse; config: ModelConfig; parameters: number }[] = []
  for (const use of plan.models) {
    const inspected = inspectModel(use.directory, { role: use.role })
    found.push({ use, ...(await inspected.catch(error => refuse(use.option, error))) })
  }
  const [trained] = plan.models
  const { chatTemplate = 'auto' } = plan
  const load = () =>
    Tokenizer.load(trained.directory, { chatTemplate }).catch(error => {
      // A template that was given names its option itself.
      if (error instanceof ChatTemplateError && error.message.startsWith('chatTemplate: ')) throw error
      return refuse(trained.option, error)
    })
  const tokenizer = given ?? (await load())
  for (const { use, config } of found) await checkVocabulary(use, config, tokenizer)
  const { context, tiedEmbeddings } = found[0]!.config.decoder
  checkLengths(plan, found)
  if (plan.servers) await checkGenerator(plan.servers.config, { as: plan.servers.weights, tiedEmbeddings })
  const planned: Planned[] = []
  for (const one of found) {
    const adapter = typeof one.use.adapter === 'string' ? await adapterOf(one.use.adapter) : one.use.adapter
    const shape = { head: headOf(one.use.role), device, dtype: one.use.dtype ?? dtype, trained: one.use.trained }
    planned.push({ ...one, ...shape, adapter: shapeOf(adapter) })
  }
  planned.push(...(await rewardModels(plan, commits?.rewards)))
  const choice = { device: plan.device, devices: plan.devices }
  const { ranks, sharing } = plannedRanks(choice, undefined, launchedRank(process.env))
  // Each rank has its part of the sequences; those of a pair stay together.
  const { groupSize = 1 } = plan
  const ofRank = { ...plan, sequences: groupSize * Math.ceil(plan.sequences / groupSize / ranks) }
  const tokenBudget = plan.tokenBudget ?? (device === 'cpu' ? 2048 : 32_768)
  const patchBudget = plan.patchBudget ?? (device === 'cpu' ? 4096 : 16_384)
  const sized = (rows?: readonly SequenceLength[]): CheckedModels => {
    const batch = largestBatch(
      ofRank,
      { context, tokenBudget, patchBudget: trainsTower(plan) ? patchBudget : undefined },
      rows,
    )
    const models = planned.map(one => ({
      ...one,
      memory: memoryOf({ ...one, shards: one.use.shard ? ranks : 1 }, batch, { ...plan, patchBudget }),
    }))
    const here = models.map(one => one.memory).filter(one => one.device === device)
    const [trained] = planned
    const merged =
      plan.generation?.engine === 'here' ? mergedBytes({ ...trained!, config: trained!.config.decoder }) : 0
    const kept = here.reduce((sum, one) => sum + keptBytes(one), merged)
    const weights = here.reduce((sum, one) => sum + one.weights, 0)
    const cache = cacheOf(plan, found[0]!.config, { device, dtype, longest: batch.longest, weights })
    const work = Math.max(...here.map(one => one.total - keptBytes(one)))
    return {
      models,
      tokenizer,
      device,
      ...{ choice, ranks, sharing },
      dtype,
      batch,
      cache,
      together: sharing * (kept + (plan.generation?.cache === 'freed' ? Math.max(cache, work) : cache + work)),
      forRows: sized,
    }
  }
  return sized()
}

/** Whether activations of the blocks of a tower are kept: the patches of a batch are bounded then. */
const trainsTower = ({ models: [{ trained }], freezeVision }: TrainingPlan): boolean =>
  trained === 'weights' && freezeVision !== 'all' && freezeVision !== 'tower'

/** A model, and how it is used. */
type Planned = Omit<CheckedModel, 'memory'> & Pick<PlannedModel, 'head' | 'device' | 'dtype' | 'trained' | 'adapter'>

function memoryOf(
  { use, config, ...one }: Planned & Pick<PlannedModel, 'shards'>,
  batch: BatchSize,
  plan: TrainingPlan,
): ModelMemory {
  const none = { tokens: 0, longest: 0, sequences: 0, rows: 0, outputs: 0, patches: 0, images: 0 }
  const { gradientCheckpointing, freezeVision, patchBudget } = plan
  const { tokens, sequences } = batch
  // A reward model is asked at one token of a sequence, so that its sequences share nothing before it.
  const asked = use.role === 'reward' ? { ...batch, rows: tokens, outputs: sequences } : batch
  const held = use.computes === 'yes' ? (one.device === 'cpu' ? asked : { ...asked, rows: tokens }) : none
  const vision = { gradientCheckpointing, freezeVision, patchBudget }
  return estimateModel({ ...one, ...held, ...vision, name: use.name, config: config.decoder })
}

/** Reward models among the rewards; everything else of the rewards is checked when they are loaded. */
async function rewardModels(plan: TrainingPlan, commits: Commits[string] | undefined): Promise<Planned[]> {
  const { rewards } = plan
  if (rewards === undefined) return []
  const named = await namedRewardModels(rewards).catch(error => refuse('rewards', error))
  const found: Planned[] = []
  for (const { name: source, path, ...own } of named) {
    const name = `reward ${source}`
    const located = rewardDirectory(path, { commits })
    const { directory, adapter } = await located.catch(error => refuse('rewards', error))
    const inspected = await inspectModel(directory, { role: 'reward' }).catch(error => refuse('rewards', error))
    const shape = adapter === undefined ? undefined : await adapterOf(adapter)
    const use = { name, option: 'rewards', directory, role: 'reward', trained: 'nothing', computes: 'yes' } as const
    const { device, dtype = device === 'cpu' ? 'float32' : 'bfloat16' } = await rewardModelPlace(own, plan)
    found.push({ use, ...inspected, head: 'score', device, dtype, trained: 'nothing', adapter: shapeOf(shape) })
  }
  return found
}

const shapeOf = (adapter: { rank: number; targets: readonly Projection[] } | undefined) =>
  adapter && { rank: adapter.rank, targets: [...adapter.targets] }

const headOf = (role: Role): 'language' | 'score' => (role === 'language' ? 'language' : 'score')

async function adapterOf(directory: string) {
  return inspectAdapter(directory).catch(error => refuse('adapter', error))
}

/** Files by their own names; patterns are looked up when data is opened. */
async function checkFiles({ data, rewards }: TrainingPlan): Promise<void> {
  const missing = (option: string, path: string, what: string): void => {
    if (!/[*?{[]/.test(path) && !existsSync(path))
      throw new InputError(`${option}: ${path}: there is no such file; expected ${what}`)
  }
  const sources = (option: string, spec: DataSpec | undefined): void => {
    for (const one of [spec ?? []].flat()) {
      const path = typeof one === 'string' ? one : one.path
      if (!isPartOfFolder(path)) missing(option, path, 'a data file, a folder of a data set, or a glob pattern')
    }
  }
  for (const { option, spec, options } of data) {
    sources(option, spec)
    sources('validationData', options.validationData)
  }
  if (rewards !== undefined) await namedRewards(rewards).catch(error => refuse('rewards', error))
}

/** Ids have the same meaning in every model, and each id exists. */
async function checkVocabulary(use: PlannedUse, { decoder }: ModelConfig, tokenizer: Tokenizer): Promise<void> {
  if (tokenizer.vocabSize > decoder.vocabSize)
    throw new InputError(
      `${use.option}: ${use.directory} has a vocabulary of ${decoder.vocabSize}, and the tokenizer in ${tokenizer.dir} ` +
        `has ${tokenizer.vocabSize} tokens; use the tokenizer of the model`,
    )
  if (use.directory === tokenizer.dir) return
  const [own, theirs] = await Promise.all([tokenizer.dir, use.directory].map(tokenizerFingerprint))
  if (theirs !== undefined && own !== theirs)
    throw new InputError(
      `${use.option}: ${use.directory} and ${tokenizer.dir} have different tokenizers, so token ids have different ` +
        'meanings; use a model with the same tokenizer',
    )
}

function checkLengths(plan: TrainingPlan, models: readonly { use: PlannedUse; config: ModelConfig }[]): void {
  for (const { use, config } of models) {
    const { context } = config.decoder
    const over = (option: string, tokens: number): InputError =>
      new InputError(
        `${option}: ${tokens} tokens do not fit into the context of ${use.name} (${use.directory}: ${context} tokens); lower ${option}`,
      )
    if (plan.maxLength !== undefined && plan.maxLength > context) throw over('maxLength', plan.maxLength)
    if (plan.generation && plan.generation.maxNewTokens >= context)
      throw over('maxNewTokens', plan.generation.maxNewTokens)
    if (plan.generation?.promptMaxLen !== undefined && plan.generation.promptMaxLen >= context)
      throw over('promptMaxLen', plan.generation.promptMaxLen)
  }
}

/** Default cache size: as much as its samples can fill, within a limit of the device. */
function cacheOf(
  { generation }: TrainingPlan,
  { decoder }: ModelConfig,
  on: { device: Device; dtype: DType; longest: number; weights: number },
): number {
  if (!generation || generation.engine === 'elsewhere') return 0
  const { device, dtype, longest, weights } = on
  // On a GPU the engine takes its share of what the weights leave, needed or not.
  if (device !== 'cpu') return generationCacheShare * Math.max(0, (cudaDevice(device)?.totalBytes ?? 0) - weights)
  const sequences = Math.min(generation.samples, generation.maxInFlight ?? deviceSequences.cpu)
  return Math.min(cacheBytes(decoder, { tokens: sequences * longest, dtype }), 2 ** 30)
}

/** Problems that need a tokenizer: messages without a chat template, rows that are all too long. */
export async function checkExamples(
  dataset: Dataset<ExampleKind>,
  tokenizer: Tokenizer,
  option: string,
): Promise<void> {
  try {
    await dataset.train(tokenizer).take(1)
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    // Bad rows are reported together, any other problem as it is.
    await dataset.collectingBadRows(() => encodeAll(dataset, tokenizer).catch(() => {}))
    throw new DataError(error.message.replace(/^data(?=: )/, option), { cause: error })
  }
  const heldOut = dataset.validation(tokenizer)
  if (heldOut && (await isEmpty(heldOut))) throw new InputError(`validation: ${whyEmpty(heldOut.counts)}`)
}

async function encodeAll(dataset: Dataset<ExampleKind>, tokenizer: Tokenizer): Promise<void> {
  const rows = dataset.train(tokenizer)
  while (rows.cursor.epoch === 0) await rows.take(64)
  await encodeHeldOut(dataset, tokenizer)
}

async function isEmpty(examples: ExampleSet<unknown>): Promise<boolean> {
  for await (const _ of examples.parts(1)) return false
  return true
}

/** What was found of a file of rows; `tooLong` where every row was encoded. */
export interface CheckedData extends DataReport {
  readonly tooLong?: TooLong
}

interface CheckDataOptions {
  readonly tokenizer: Tokenizer
  /** Tokens that the model takes: every row is then encoded, to count those that are too long. */
  readonly context?: number
  readonly signal: AbortSignal
}

/** Loads the rewards and reads every row; a problem of either, or of both together, is an error. */
export async function checkData(
  plan: TrainingPlan,
  { tokenizer, context, signal }: CheckDataOptions,
): Promise<CheckedData[]> {
  const reports: CheckedData[] = []
  const { device, dtype } = plan
  const rewards =
    plan.rewards === undefined ? undefined : await loadRewards(plan.rewards, { tokenizer, device, dtype, signal })
  try {
    for (const { option, kind, spec, options, answerEnd } of plan.data) {
      const settings = dataOptionsSchema.parse(options)
      const shared = { seed: plan.seed, baseDirectory: process.cwd(), signal, ...(answerEnd ? { answerEnd } : {}) }
      const check = rewards ? { checkPrompt: (row: PromptRow) => rewards.rowProblem(row) } : {}
      const { maxLength = context } = settings
      const limited = maxLength === undefined ? {} : { maxLength }
      const answered = kind === 'prompts' ? plan.generation : undefined
      const dataset = await openDataset(kind, spec, { ...settings, ...shared, ...check, ...(answered ? {} : limited) })
      try {
        await checkExamples(dataset, tokenizer, option)
        const count = { tokenizer, generation: answered, signal }
        const tooLong =
          context === undefined || maxLength === undefined
            ? undefined
            : await countTooLong(dataset, { ...count, limit: answered ? promptLimit(answered, context) : maxLength })
        reports.push({ ...dataset.report, ...(tooLong ? { tooLong } : {}) })
      } finally {
        await dataset.close()
      }
    }
  } finally {
    await rewards?.close()
  }
  return reports
}
