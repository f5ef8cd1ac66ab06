/** Experiences: responses to prompts with rewards, log-probabilities, KL, advantages and returns. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataOptionsSchema, openDataset, type PromptExample } from '../data/index.js'
import { DistributedModel, Ranks } from '../distributed/index.js'
import { type ExperienceBatch, FastExperienceMaker } from '../experience/index.js'
import type { MultimodalProcessor, TokenModel } from '../model/index.js'
import { count, type Report, silentReport } from '../progress/index.js'
import { locateRewardModels, RewardComputationEngine, type RewardEngineOptions } from '../reward/index.js'
import { eventLine, type Generator } from '../rollout/index.js'
import { audioUnsupported } from '../sequence/index.js'
import { locateNames } from '../source/index.js'
import type { Tokenizer } from '../text/index.js'
import {
  type CheckedData,
  type CheckedModels,
  checkData,
  checkExamples,
  checkGenerator,
  checkModels,
  copyHere,
  experienceIdle,
  idleOptions,
  type LiveParts,
  loadDefinitions,
  loadFrozen,
  loadRunRewards,
  openGenerator,
  openMedia,
  type ResolvedConfig,
  requireMachine,
  rewardLoading,
  rewardModelLoader,
  rewardNamesOf,
} from '../train/index.js'
import {
  type ExperienceFile,
  experienceOptions,
  makerOptions,
  planExperience,
  resolveExperience,
} from './experience-config.js'
import { givenParts } from './live-parts.js'
import type { ExperienceInput, ExperiencePlain } from './options.generated.js'
import type { Rewards } from './reward-parts.js'
import { attributed } from './run-training.js'
import type { Data, Model } from './train.js'

/** The options of its config, with live things in place of files. Experiences are not written: they are what it gives. */
export interface ExperienceOptions<Row extends object = object> extends ExperiencePlain {
  /** The model that generates: a directory, or a model of the program. */
  readonly model: Model<'language'>
  /** The model that KL is measured to. */
  readonly reference?: Model<'language'>
  /** The model that estimates values. */
  readonly critic?: Model<'value'>
  /** Prompts: files and patterns, or rows. */
  readonly data: Data<Row>
  /** A reward: a file, a function of one sample, a source, or a list of them. */
  readonly rewards: Rewards<Row>
  /** The engine that generates: settings as in a config, or a generator of the program. */
  readonly generator?: ExperienceInput['generator'] | Generator
  /** In place of the one in the model's directory. */
  readonly tokenizer?: Tokenizer
  /** What makes images and videos ready, in place of the one in the model's directory. */
  readonly processor?: MultimodalProcessor
  /** Ends the work. */
  readonly signal?: AbortSignal
  /** Shows people how it goes. Default: nothing. */
  readonly report?: Report
}

/**
 * Batches of experiences, in the order of the prompts: the same prompts that a run of `rl` makes of the same data.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', answer: '4' }]
 * const rewards = ({ response }: RewardInput) => (response.includes('4') ? 1 : 0)
 * const made = experience({ model: 'model', data: rows, rewards, advantageEstimator: 'rloo', nSamplesPerPrompt: 4 })
 * for await (const { experiences, info } of made) console.log(experiences.length, info.reward?.mean)
 */
export async function* experience<Row extends object>(
  options: ExperienceOptions<Row>,
): AsyncGenerator<ExperienceBatch, void> {
  const { signal = new AbortController().signal, report = silentReport, ...given } = options
  const directory = await mkdtemp(join(tmpdir(), 'whetstone-experience-'))
  try {
    const { values, live, place } = givenParts(given, directory)
    const layer = { origin: 'experience', values: { ...values, output: '-' }, directory: process.cwd() }
    const resolved = resolveExperience(await loadDefinitions([layer]))
    await place({ existing: 'replace', allowChange: [], signal })
    yield* startExperience({ ...resolved, live, report, signal })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

interface ExperienceStart extends ResolvedConfig<ExperienceFile>, Surroundings {
  /** The models are loaded and the first batch begins. */
  readonly onOpened?: () => void
}

/** Batches of experiences from a config that is resolved. */
export async function* startExperience(start: ExperienceStart): AsyncGenerator<ExperienceBatch, void> {
  const { config, origins, onOpened, ...around } = start
  for (const line of idleOptions({ config, origins }, experienceIdle)) around.report.line(line)
  const opened = await attributed(origins, () => openExperience(config, around))
  onOpened?.()
  yield* makeExperiences(opened, around)
}

/** What a start would find: models, memory and every row. Loads and writes nothing. */
export function checkExperience({
  config,
  origins,
  signal,
}: Pick<ExperienceStart, 'config' | 'origins' | 'signal'>): Promise<{ models: CheckedModels; data: CheckedData[] }> {
  return attributed(origins, async () => {
    const plan = planExperience(config)
    const models = await checkModels(plan)
    requireMachine(models)
    await checkGenerator(config.generator)
    const { context } = models.models[0]!.config.decoder
    return { models, data: await checkData(plan, { tokenizer: models.tokenizer, context, signal }) }
  })
}

interface Surroundings {
  readonly live?: LiveParts
  readonly report: Report
  readonly signal: AbortSignal
}

interface OpenedExperience {
  readonly maker: FastExperienceMaker
  readonly rolloutBatchSize: number
  readonly prompts: { readonly size: number; next(count: number): Promise<readonly PromptExample[]> }
  close(): Promise<void>
}

/** Checks everything, then loads the models. */
async function openExperience(
  given: ExperienceFile,
  { live = {}, report, signal }: Surroundings,
): Promise<OpenedExperience> {
  const opened: (() => Promise<void> | void)[] = []
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).reverse()) await one()
  }
  try {
    const ranks = await Ranks.of(given, signal)
    opened.push(() => ranks.close())
    const { config } = await locateNames(given, { options: experienceOptions.paths, report, signal })
    const named = rewardNamesOf(config.rewards, live)
    const commits = named === undefined ? {} : await locateRewardModels(named, { report, signal })
    const plan = planExperience(config)
    const checking = { ...live, commits: { rewards: commits } }
    const models = await checkModels({ ...plan, rewards: named }, checking)
    requireMachine(models)
    if (!live.generator) await checkGenerator(config.generator)
    const { tokenizer } = models
    const loadModel = rewardModelLoader(config, { ranks, report, signal })
    const loading = { tokenizer, device: config.device, ...rewardLoading(config), signal, commits, loadModel }
    const { tokenizer: _, ...rewards } = await loadRunRewards(config.rewards, live, loading)
    const engine = new RewardComputationEngine({ ...rewards, tokenizer })
    opened.push(() => engine.close())
    const dataset = await openDataset('prompts', config.data, {
      ...dataOptionsSchema.parse(config),
      ...{ shuffle: false, seed: config.seed, baseDirectory: process.cwd(), signal },
      checkPrompt: row => (row.audios ? audioUnsupported : engine.rowProblem(row)),
    })
    opened.push(() => dataset.close())
    const media = await openMedia({ config, model: models.models[0]!.config, tokenizer, live })
    dataset.readMediaWith(media.processor)
    await checkExamples(dataset, tokenizer, 'data')
    const parts = {
      ...(await loadParts(config, tokenizer, { live, ranks, report, signal }, opened)),
      processor: media.processor,
    }
    const maker = new FastExperienceMaker({
      ...makerOptions(config),
      ...parts,
      ...(rewards as RewardEngineOptions),
      patienceMinutes: rewards.patienceMinutes ?? config.rewardPatienceMinutes,
      onAway: ({ message }) => report.line(message),
    })
    const rows = dataset.train(tokenizer)
    let number = 0
    const next = async (wanted: number): Promise<readonly PromptExample[]> => {
      const taken: PromptExample[] = []
      while (taken.length < wanted && rows.cursor.epoch === 0)
        for (const row of await rows.take(wanted - taken.length)) taken.push({ ...row, promptId: `${number++}` })
      return taken
    }
    return { maker, rolloutBatchSize: config.rolloutBatchSize, prompts: { size: rows.size, next }, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Batch after batch; closes what was opened for it. */
async function* makeExperiences(
  { maker, rolloutBatchSize, prompts, close }: OpenedExperience,
  { report, signal }: Pick<Surroundings, 'report' | 'signal'>,
): AsyncGenerator<ExperienceBatch, void> {
  const progress = report.transfer('experiences', count('prompts', 100))
  try {
    let done = 0
    for (let batch = await prompts.next(rolloutBatchSize); batch.length > 0; ) {
      yield await maker.makeExperienceList(batch, { signal })
      done += batch.length
      progress.at(done, prompts.size)
      batch = await prompts.next(rolloutBatchSize)
    }
  } finally {
    progress.end()
    await close()
  }
}

async function loadParts(
  config: ExperienceFile,
  tokenizer: Tokenizer,
  { live = {}, ranks, report, signal }: Surroundings & { readonly ranks: Ranks },
  opened: (() => Promise<void> | void)[],
) {
  const settings = { device: config.device, gradientCheckpointing: false, seed: config.seed }
  const load = async <R extends 'language' | 'value'>(role: R, directory: string, what: string, adapter?: string) => {
    const model = await loadFrozen(directory, { ...settings, role, what, adapter }, { ranks, report, signal })
    opened.push(() => model.dispose())
    return model
  }
  const { reference: named, critic: criticPath, klController } = config
  const actor =
    (live.model as TokenModel<'language'> | undefined) ??
    (await load('language', config.model, 'the actor', config.adapter))
  const off = named === 'adapter-off' ? ('adapter-off' as const) : undefined
  const reference = live.reference ?? off ?? (named && (await load('language', named, 'the reference')))
  const critic = live.critic ?? (criticPath === undefined ? undefined : await load('value', criticPath, 'the critic'))
  const generator = live.generator ?? (await open())
  return {
    ...{ actor, tokenizer, generator },
    ...(reference ? { reference } : {}),
    ...(critic ? { critic } : {}),
    ...(klController ? { klController } : {}),
  }

  async function open(): Promise<Generator> {
    const made = await openGenerator({
      config: config.generator,
      actor: copyHere(actor) ?? copyHere(await load('language', config.model, 'the actor'))!,
      policy: actor instanceof DistributedModel ? actor : undefined,
      model: config.model,
      tokenizer,
      rollout: { ...config, samples: config.rolloutBatchSize * config.nSamplesPerPrompt },
      report,
      signal,
      onEvent: event => {
        if (event.kind !== 'updated' && event.kind !== 'proved') report.line(eventLine(event))
      },
    })
    opened.push(() => made.close())
    return made.generator
  }
}
