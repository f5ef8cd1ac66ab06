/** Reads everything except the weights of the models, so that problems are found before loading them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type ConversationExample,
  DataError,
  type Dataset,
  dataOptionsSchema,
  type ExampleKind,
  type ExampleSet,
  openDataset,
} from '../data/index.js'
import { type EpisodeRules, episodeRules } from '../environment/index.js'
import { InputError, naming, refuse } from '../errors/index.js'
import { inspectAdapter, inspectModel, MultimodalProcessor } from '../model/index.js'
import { resolveSampling, type SamplingParams } from '../rollout/index.js'
import { locateNames, withBase } from '../source/index.js'
import { requireDevice, resolveDevice } from '../tensor/index.js'
import { ChatTemplateError, Tokenizer } from '../text/index.js'
import { loadEnvironment, processorOptions, type Report } from '../train/index.js'
import {
  type EvaluationConfig,
  type EvaluationMetric,
  type EvaluationOptions,
  evaluationMetrics,
  temperatureOf,
} from './options.js'
import { type EvaluationPrompt, readPrompts } from './prompts.js'
import { type EvaluationRewards, environmentRewards, prepareRewards } from './rewards.js'

/** A model that is evaluated, with the data as its tokenizer reads it. */
export interface PreparedModel {
  readonly name: 'model' | 'reference'
  readonly directory: string
  readonly adapter: string | undefined
  readonly tokenizer: Tokenizer
  /** Of a vision-language model. */
  readonly processor: MultimodalProcessor | undefined
  readonly conversations: ExampleSet<ConversationExample> | undefined
  readonly prompts: readonly EvaluationPrompt[] | undefined
  /** Where answers are episodes. */
  readonly rules: EpisodeRules | undefined
  /** Prompts that are too long. */
  readonly overlong: number
}

export interface PreparedEvaluation {
  readonly models: readonly PreparedModel[]
  readonly files: readonly string[]
  readonly rewards: EvaluationRewards | undefined
  readonly sampling: SamplingParams & { readonly maxNewTokens: number }
  /** What is measured. */
  readonly measured: ReadonlySet<EvaluationMetric>
  readonly leftOut: Readonly<Partial<Record<EvaluationMetric, string>>>
  close(): Promise<void>
}

export async function prepareEvaluation(
  given: EvaluationConfig,
  {
    report,
    signal,
    live,
  }: { readonly report: Report; readonly signal: AbortSignal; readonly live?: EvaluationOptions['live'] },
): Promise<PreparedEvaluation> {
  naming('device', () => requireDevice(resolveDevice(given.device)))
  const options = ['model', 'adapter', 'reference', 'reward', 'data', 'data.path']
  const { config } = await locateNames(given, { options, report, signal })
  const inspected = await inspectModels(config)
  const context = Math.min(...inspected.map(one => one.context))
  const sampling = samplingOf(config)
  for (const { vocabSize } of inspected) resolveSampling(sampling, { vocabSize, n: config.samples })
  const opened: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0)) await one.close()
  }
  try {
    const data = await openData(config, context, signal)
    opened.push(...data.datasets)
    const environment = await loadEnvironment(config, live)
    if (environment?.close && !live?.environment) opened.push({ close: () => environment.close!() })
    const tokenizer = (await shareTokenizer(inspected)) ? inspected[0]!.tokenizer : undefined
    const given =
      config.reward === undefined
        ? undefined
        : await prepareRewards(config.reward, { tokenizer, device: config.device, report, signal })
    const rewards = given ?? (environment && environmentRewards())
    if (rewards) opened.push(rewards)
    const models: PreparedModel[] = []
    for (const one of inspected) {
      const limits = config.episode ?? {}
      const rules = environment && (await episodeRules({ environment, tokenizer: one.tokenizer, limits }))
      models.push({ ...one, ...(await readData(one, data, config)), rules })
    }
    for (const { prompts = [] } of models)
      for (const row of prompts) {
        const problem = rewards?.rowProblem(row)
        if (problem !== undefined) throw new InputError(`data: ${row.where}: ${problem}`)
      }
    const leftOut = missing(config, { models, rewards, problems: data.problems })
    const wanted = config.metrics ?? evaluationMetrics
    const measured = new Set(wanted.filter(metric => leftOut[metric] === undefined))
    if (measured.size === 0)
      throw new InputError(
        `no metric can be measured:\n${Object.entries(leftOut)
          .map(([name, why]) => `${name}: ${why}`)
          .join('\n')}`,
      )
    if (answersWanted(measured) && config.maxNewTokens >= context)
      throw new InputError(
        `maxNewTokens: ${config.maxNewTokens} leaves no room for a prompt in a context of ${context}; lower it`,
      )
    return { models, files: data.files, rewards, sampling, measured, leftOut, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** All metrics except perplexity need generated answers. */
export const answersWanted = (measured: ReadonlySet<EvaluationMetric>): boolean =>
  [...measured].some(metric => metric !== 'perplexity')

function samplingOf(config: EvaluationConfig): PreparedEvaluation['sampling'] {
  const { seed, maxNewTokens } = config
  return { seed, maxNewTokens, temperature: temperatureOf(config) }
}

async function inspectModels({ model, adapter, reference, chatTemplate, media }: EvaluationConfig) {
  const named = async (name: 'model' | 'reference', directory: string, adapter?: string) => {
    const found = await withBase({ model: directory, adapter })
    return { name, directory: found.model, adapter: found.adapter }
  }
  const all = [
    await named('model', model, adapter),
    ...(reference === undefined ? [] : [await named('reference', reference)]),
  ]
  const found = []
  for (const one of all) {
    const { context, vocabSize, vision } = await inspectModel(one.directory, { role: 'language' })
      .then(({ config }) => config.decoder)
      .catch(error => refuse(one.name, error))
    if (one.adapter !== undefined) await inspectAdapter(one.adapter).catch(error => refuse('adapter', error))
    const tokenizer = await Tokenizer.load(one.directory, { chatTemplate }).catch(error => {
      if (error instanceof ChatTemplateError) throw error
      return refuse(one.name, error)
    })
    if (tokenizer.vocabSize > vocabSize)
      throw new InputError(
        `${one.name}: ${one.directory}: the tokenizer has ${tokenizer.vocabSize} tokens, the model only ${vocabSize}; use the tokenizer of the model`,
      )
    const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
    const processor = vision && (await MultimodalProcessor.load(one.directory, { encode, ...processorOptions(media) }))
    found.push({ ...one, context, vocabSize, tokenizer, processor })
  }
  return found
}

async function shareTokenizer(models: readonly { directory: string }[]): Promise<boolean> {
  const texts = await Promise.all(models.map(({ directory }) => readFile(join(directory, 'tokenizer.json'), 'utf8')))
  return texts.every(text => text === texts[0])
}

interface OpenData {
  readonly conversations: Dataset<'conversations'> | undefined
  readonly prompts: Dataset<'prompts'> | undefined
  readonly datasets: readonly Dataset<ExampleKind>[]
  /** Why rows cannot be read as a kind. */
  readonly problems: Partial<Record<'conversations' | 'prompts', string>>
  readonly files: readonly string[]
}

/**
 * Reads the files as conversations (for perplexity) and as prompts (for the rest), as far as the rows allow and the metrics need.
 */
async function openData(config: EvaluationConfig, context: number, signal: AbortSignal): Promise<OpenData> {
  const { data, promptTemplate, systemPrompt, chatTemplate, maxBadRows, seed, metrics, maxNewTokens } = config
  // As held-out rows: these are visited once each, in the order of the files.
  const options = {
    ...dataOptionsSchema.parse({ validationData: data, promptTemplate, systemPrompt, chatTemplate, maxBadRows }),
    ...{ seed, baseDirectory: process.cwd(), signal },
  }
  // If maxNewTokens leaves no room for a prompt, fail as soon as answers are needed.
  const room = maxNewTokens < context ? context - maxNewTokens : context - 1
  const problems: OpenData['problems'] = {}
  const open = async <K extends 'conversations' | 'prompts'>(kind: K, maxLength: number) => {
    try {
      return await openDataset(kind, data, { ...options, maxLength })
    } catch (error) {
      if (!(error instanceof DataError)) throw error
      problems[kind] = error.message
      return undefined
    }
  }
  const conversations = wants(metrics, ['perplexity']) ? await open('conversations', context) : undefined
  const others = evaluationMetrics.filter(metric => metric !== 'perplexity')
  const prompts = wants(metrics, others) ? await open('prompts', room) : undefined
  if (!conversations && !prompts) throw unreadable(problems)
  const datasets = [conversations, prompts].filter(one => one !== undefined)
  const files = [...new Set(datasets[0]!.report.files.map(({ path }) => path))]
  return { conversations, prompts, datasets, problems, files }
}

/** All rows that are not prompts, and the first that is not a conversation; mostly they are the same. */
function unreadable({ prompts, conversations }: OpenData['problems']): DataError {
  if (prompts === undefined || conversations === undefined || prompts === conversations)
    return new DataError(prompts ?? conversations!)
  const [heading, first] = conversations.split('\n')
  return new DataError(`${prompts}\nAs conversations: ${(first ?? heading)!.trim()}`)
}

const wants = (metrics: readonly EvaluationMetric[] | undefined, some: readonly EvaluationMetric[]): boolean =>
  metrics === undefined || metrics.some(metric => some.includes(metric))

async function readData(
  { tokenizer, processor }: { tokenizer: Tokenizer; processor: MultimodalProcessor | undefined },
  { conversations, prompts, datasets }: OpenData,
  { limit }: EvaluationConfig,
) {
  for (const one of datasets) one.readMediaWith(processor ?? null)
  const set = prompts?.validation(tokenizer)
  return {
    conversations: conversations && limited(conversations.validation(tokenizer)!, limit),
    prompts: set && (await readPrompts(set, { limit })),
    overlong: set?.counts.dropped.overlong ?? 0,
  }
}

/** The first rows of a set. */
function limited<E>(set: ExampleSet<E>, limit: number | undefined): ExampleSet<E> {
  if (limit === undefined || limit >= set.size) return set
  return {
    size: limit,
    counts: set.counts,
    async *parts(count) {
      let left = limit
      for await (const part of set.parts(Math.min(count, limit))) {
        yield part.slice(0, left)
        left -= part.length
        if (left <= 0) return
      }
    },
  }
}

/** Metrics that cannot be measured, and why; an error if they were requested by name. */
function missing(
  config: EvaluationConfig,
  found: { models: readonly PreparedModel[]; rewards: EvaluationRewards | undefined; problems: OpenData['problems'] },
): Partial<Record<EvaluationMetric, string>> {
  const { models, rewards, problems } = found
  const prompts = models.flatMap(one => one.prompts ?? [])
  const noPrompts = problems.prompts ?? (prompts.length === 0 ? 'no prompt is short enough for the model' : undefined)
  const noReward = noPrompts ?? (rewards ? undefined : 'no reward is given')
  const noTexts =
    noPrompts ??
    (prompts.some(({ targets }) => targets.length > 0)
      ? undefined
      : 'no row has a target: a column target or completion, or messages that end with the assistant')
  const why: Record<EvaluationMetric, string | undefined> = {
    perplexity: problems.conversations,
    reward: noReward,
    accuracy:
      noReward ??
      (rewards?.judge === 'model' && config.correctAt === undefined
        ? 'scores of a reward model are neither correct nor wrong; set correctAt to the lowest correct score'
        : undefined),
    winRate: noReward ?? (config.reference === undefined ? 'no reference model is given' : undefined),
    bleu: noTexts,
    rougeL: noTexts,
  }
  for (const metric of config.metrics ?? [])
    if (why[metric] !== undefined) throw new InputError(`metrics: ${metric} cannot be measured: ${why[metric]}`)
  const wanted = config.metrics ?? evaluationMetrics
  return Object.fromEntries(wanted.flatMap(metric => (why[metric] === undefined ? [] : [[metric, why[metric]]])))
}
