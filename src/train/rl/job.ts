/** A reinforcement learning run from its config to the models it leaves: checks, the run directory, models, the loop, exports. */
import { join } from 'node:path'
import { openDataset, type PromptRow, type SkippedRow } from '../../data/index.js'
import { DistributedModel } from '../../distributed/index.js'
import { type EpisodeRules, episodeRules } from '../../environment/index.js'
import { InputError } from '../../errors/index.js'
import { FastExperienceMaker, promptLimit, turnsOf, withEnvironment } from '../../experience/index.js'
import type { LocalModel, TokenModel } from '../../model/index.js'
import { RewardComputationEngine, type RewardEngineOptions } from '../../reward/index.js'
import { eventLine } from '../../rollout/index.js'
import { createLoggers, Run, type RunInputs } from '../../run/index.js'
import { audioUnsupported } from '../../sequence/index.js'
import { type CheckedModels, checkExamples, checkModels } from '../checks/check-plan.js'
import { countTooLong, type TooLong } from '../checks/count-lengths.js'
import { requireMachine } from '../checks/machine.js'
import { harmlessKeys } from '../config/common.js'
import { checkDefinitions, definitionInputs } from '../config/definitions.js'
import { environmentInputs, loadEnvironment } from '../config/environment.js'
import { loadRunRewards, rewardLoading, rewardNamesOf } from '../config/rewards.js'
import { exportModel } from '../run/export-model.js'
import {
  checkedOnly,
  type JobOptions,
  type JobResult,
  startIsBest,
  watched,
  withCommits,
  withinRun,
} from '../run/job.js'
import {
  averageOver,
  copyHere,
  deviceOf,
  type LoadContext,
  type LoadedModel,
  loadFrozen,
  loadTrained,
  ofRole,
  rewardModelLoader,
} from '../run/load-model.js'
import { openMedia } from '../run/media.js'
import { memoryMetrics } from '../run/memory-metrics.js'
import { type OpenedGenerator, openGenerator } from '../run/open-generator.js'
import { trainProgress } from '../run/progress.js'
import { runInputs } from '../run/run-inputs.js'
import { keepTokenizer, runVersions } from '../run/run-setup.js'
import { algorithmOf } from './algorithms.js'
import { experienceOptionsOf, needsCritic, type RlConfig, referenceOf } from './config.js'
import { checkCapabilities, checkImportance } from './engine-checks.js'
import { type RlLoopResult, trainRl } from './loop.js'
import type { RlParts } from './parts.js'
import { firstUntrained, keepsSamples, refuseWithoutSamples } from './state.js'
import { planRl } from './training-plan.js'
import { proofTextOf, removeWritten, weightSync, weightsDirectoryOf } from './weight-sync.js'

const shown = ['reward/mean', 'validation/reward', 'kl/mean', 'length/mean', 'speed/tokens_per_second']

/** Checks everything, opens the run directory, loads the parts and trains. */
export async function runRl(job: JobOptions<RlConfig>): Promise<JobResult> {
  const prepared = await prepareRl(job)
  const { config, models, dataset, ptx } = prepared
  try {
    const data = [dataset, ...(ptx ? [ptx] : [])].map(({ report }) => report)
    if ((await job.onChecked?.({ models, data, countTooLong: () => tooLongOf(job, prepared) })) === 'stop')
      return checkedOnly(config.output)
    const run = await openRun(job, prepared)
    return await withinRun(run, job, () => trainRun(job, prepared, run))
  } finally {
    await prepared.close()
  }
}

type PreparedRl = Awaited<ReturnType<typeof prepareRl>>

/** Everything that can be checked before weights are read and anything is written: shapes, tokenizer, every row, the rewards. */
export async function prepareRl({
  config,
  signal,
  commits,
  report,
  ranks,
  live = {},
}: Pick<JobOptions<RlConfig>, 'config' | 'signal' | 'live' | 'commits' | 'report' | 'ranks'>) {
  checkDefinitions(config)
  const loggers = createLoggers(config.loggers)
  if (live.generator) checkCapabilities(config, live.generator)
  if (live.model) ofRole(live.model, 'language', 'model')
  if (live.reference) ofRole(live.reference, 'language', 'reference')
  if (live.critic) ofRole(live.critic, 'value', 'critic.model')
  const plan = planRl(config)
  // Rewards of a program are loaded already; what the config names is their text.
  const named = rewardNamesOf(plan.rewards, live)
  const models = await checkModels({ ...plan, rewards: named }, { ...live, commits })
  requireMachine(models)
  const { tokenizer } = models
  const { context } = models.models[0]!.config.decoder
  checkVocabularies(models)
  const media = await openMedia({ config, model: models.models[0]!.config, tokenizer, live })
  const loadModel = ranks && rewardModelLoader(config, { ranks, report, signal })
  const loading = { ...config, ...rewardLoading(config), tokenizer, signal, commits: commits?.rewards, loadModel }
  const opened: { close(): Promise<void> }[] = []
  const close = async (): Promise<void> => {
    for (const one of opened) await one.close()
  }
  const skipped: SkippedRow[] = []
  const shared = {
    seed: config.seed,
    baseDirectory: process.cwd(),
    signal,
    onSkipped: (row: SkippedRow) => skipped.push(row),
  }
  try {
    const environment = await loadEnvironment(config, live)
    if (environment?.close && !live.environment) opened.push({ close: () => environment.close!() })
    const rules = environment && (await episodeRules({ environment, tokenizer, limits: config.episode ?? {} }))
    const asked =
      config.rewards === undefined && !live.rewards ? {} : await loadRunRewards(config.rewards ?? [], live, loading)
    const { tokenizer: _, ...rewards } = { tokenizer: undefined, ...asked }
    // Made to check how the sources go together; closing it at the end closes them.
    const engine = new RewardComputationEngine({ ...withEnvironment(rewards, environment), tokenizer })
    opened.push(engine)
    // The trained model scores what a server heard.
    const checkPrompt = (row: PromptRow): string | undefined => (row.audios ? audioUnsupported : engine.rowProblem(row))
    const options = { trainOn: 'assistant' as const, ...config, ...shared, checkPrompt }
    const dataset = await openDataset('prompts', config.data, options)
    opened.push(dataset)
    dataset.readMediaWith(media.processor)
    await checkExamples(dataset, tokenizer, 'data')
    const ptx = config.ptx
      ? await openDataset('conversations', config.ptx.data, {
          validationShare: 0,
          trainOn: 'assistant',
          maxBadRows: config.maxBadRows,
          shuffle: config.shuffle,
          chatTemplate: config.chatTemplate,
          maxLength: config.ptx.maxLength ?? context,
          ...shared,
        })
      : undefined
    if (ptx) {
      opened.push(ptx)
      ptx.readMediaWith(media.processor)
      await checkExamples(ptx, tokenizer, 'ptx.data')
    }
    const rows = dataset.report.train
    const iterations = config.iterations ?? Math.max(1, Math.ceil((config.epochs * rows) / config.rolloutBatchSize))
    const { warmupIterations = 0 } = config.critic ?? {}
    if (warmupIterations >= iterations)
      throw new InputError(
        `critic.warmupIterations: ${warmupIterations} of ${iterations} iterations train only the critic, so the policy would not learn; lower it, or raise iterations`,
      )
    // With the length that the model allows, where none was given: a run can be replayed without the model.
    const promptMaxLen = promptLimit(config, context)
    const found = { models, tokenizer, media, rewards, environment, rules, dataset, ptx, skipped, iterations, loggers }
    return { config: { ...config, promptMaxLen }, ...found, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Of the prompts, and of the supervised rows that are mixed in. */
async function tooLongOf({ signal }: JobOptions<RlConfig>, prepared: PreparedRl): Promise<TooLong[]> {
  const { config, dataset, ptx, tokenizer } = prepared
  const prompts = await countTooLong(dataset, {
    tokenizer,
    processor: prepared.media.processor,
    generation: config,
    limit: config.promptMaxLen,
    signal,
  })
  if (!ptx) return [prompts]
  const { maxLength: limit = prepared.models.models[0]!.config.decoder.context } = config.ptx!
  return [prompts, await countTooLong(ptx, { tokenizer, generation: undefined, limit, signal })]
}

/** A critic or a reference with another vocabulary would fail hours later, or silently train on wrong ids. */
function checkVocabularies({ models: [policy, ...others] }: CheckedModels): void {
  const { vocabSize } = policy!.config.decoder
  for (const { use, config } of others)
    if (use.role !== 'reward' && config.decoder.vocabSize !== vocabSize)
      throw new InputError(
        `${use.option}: ${use.directory} has a vocabulary of ${config.decoder.vocabSize} tokens, and the trained model has ${vocabSize}; they must be equal`,
      )
}

async function openRun(
  job: JobOptions<RlConfig>,
  { config, dataset, ptx, tokenizer, loggers, rules }: PreparedRl,
): Promise<Run> {
  const { origins, resume, allowChange, report, signal, live } = job
  const fingerprints = { ...dataset.fingerprints, ...ptx?.fingerprints }
  const plain = JSON.parse(JSON.stringify(config))
  const { model, adapter, critic, rewards, chatTemplate } = config
  const reference = referenceOf(config)
  const directories = {
    model,
    adapter,
    // The model before training is there already.
    reference: typeof reference === 'object' && reference.directory !== model ? reference.directory : undefined,
    'critic.model': critic?.model,
    tokenizer: live?.tokenizer && tokenizer.dir,
  }
  const texts = live?.rewards ? { rewards: [{ name: 'rewards.txt', path: String(rewards) }] } : {}
  const files = await runInputs({
    models: directories,
    rewards: rewardNamesOf(rewards, live ?? {}),
    rewardCommits: job.commits?.rewards,
    chatTemplate,
    definitions: { ...(await definitionInputs(config)), ...texts, ...(await environmentTexts(config, live)) },
    report,
    signal,
  })
  const inputs = withWorld(withCommits(files, job.commits), rules, config.tools === undefined ? 'environment' : 'tools')
  const identity = { command: 'rl' as const, config: plain, origins, fingerprints, inputs, versions: runVersions() }
  const { keepCheckpoints } = config
  const onWarning = (message: string): void => report.line(message)
  const shared = { ...watched(job), keepCheckpoints, loggers, onWarning }
  return resume
    ? Run.resume(config.output, identity, {
        ...shared,
        allowChange,
        harmless: harmlessFor(config),
        outdatedFrom: (state, changes) => firstUntrained(state) + (keepsSamples(state, changes) ? 1 : 0),
        journalOf: firstUntrained,
        refuse: refuseWithoutSamples,
      })
    : Run.create(config.output, identity, shared)
}

/**
 * What the policy sees of its environment, which files may not show: tools of a server, the version of an environment, the chat template. A
 * resumed run is compared by it.
 */
function withWorld(inputs: RunInputs, rules: EpisodeRules | undefined, option: 'environment' | 'tools'): RunInputs {
  if (!rules) return inputs
  const { name, version } = rules.environment
  const { tools, template } = rules.identity
  const seen = {
    'name and version': `${name} ${version}`,
    'tools as the model reads them': tools,
    'chat template': template,
  }
  return { ...inputs, [option]: { ...inputs[option], ...seen } }
}

/** An environment that a program gave is recorded as text. */
function environmentTexts(config: RlConfig, live: JobOptions<RlConfig>['live']) {
  if (!live?.environment) return environmentInputs(config)
  return { environment: [{ name: 'environment.txt', path: String(config.environment) }] }
}

/** The number of iterations affects the learning rate if a schedule depends on it. */
function harmlessFor({ optimizer, critic, generator }: RlConfig): readonly string[] {
  const spread = [optimizer, ...(critic ? [critic.optimizer] : [])].some(
    ({ schedule, warmupSteps, warmupRatio }) =>
      schedule !== 'constant' || (warmupSteps === undefined && warmupRatio > 0),
  )
  const keys = [
    ...harmlessKeys,
    'evaluation',
    'exportEvery',
    'sampleEvery',
    'saveTrajectories',
    'numTrajectoriesToSave',
    // Nothing is known of a generator of a user.
    ...(typeof generator.type === 'string' ? ['generator'] : []),
    'rewardPatienceMinutes',
    'rewardWorkers',
  ]
  return spread ? keys : [...keys, 'iterations', 'epochs']
}

async function trainRun(job: JobOptions<RlConfig>, prepared: PreparedRl, run: Run): Promise<JobResult> {
  const { config, tokenizer, iterations, skipped } = prepared
  const texts = await keepTokenizer(tokenizer, run.directory, job.live)
  await prepared.media.keepIn(run.directory, { signal: job.signal })
  if (run.fromStart) for (const row of skipped) run.skipped({ ...row })
  const { parts, device, close } = await loadParts(job, { ...prepared, texts }, run)
  const progress = trainProgress(job.report, {
    label: algorithmOf(config.algorithm).name,
    totalSteps: iterations,
    shown,
  })
  if (device !== 'cpu')
    progress.note('The first iteration on a GPU also records CUDA graphs; this takes about ten seconds.')
  try {
    const result = await trainRl({
      config,
      iterations,
      parts,
      run,
      progress,
      memory: () => memoryMetrics(device),
      tokenizer,
      signal: job.signal,
    })
    progress.stage('saving', 'the final model')
    if (result.outcome === 'finished') await exportAll(parts, run.directory, { ...result, keep: config.keep })
    // A resumed run writes them again.
    if (config.generator.type !== 'local') await removeWritten(weightsDirectoryOf(config))
    const { state, metrics, outcome } = result
    const best = state.best && { step: state.best.iteration, metric: 'validation/reward', value: state.best.reward }
    if (outcome === 'finished' && best?.step === 0 && state.step > 0) {
      run.event('best', best)
      progress.note(startIsBest(best, config.keep))
    }
    progress.end(result.summary, result.found)
    return { outcome, step: state.step, metrics, ...(best ? { best } : {}), directory: run.directory }
  } finally {
    progress.leave()
    await close()
  }
}

async function exportAll(
  { actor, critic, ema, turns }: RlParts,
  run: string,
  { state, keep }: Pick<RlLoopResult, 'state'> & Pick<RlConfig, 'keep'>,
): Promise<void> {
  await turns.use(actor, async () => {
    await exportModel(actor, { run, name: 'final', keep })
    // Nothing was held out: the last model is the best.
    if (!state.best) await exportModel(actor, { run, name: 'best', keep })
  })
  if (critic) await turns.use(critic, () => critic.export(join(run, 'value_model'), { what: 'model' }))
  if (ema) await exportModel(ema.model, { run, name: 'ema', keep })
}

async function loadParts(
  job: JobOptions<RlConfig>,
  prepared: PreparedRl & { readonly texts: string | undefined },
  run: Run,
) {
  const { config, texts, tokenizer, media, rewards, environment, dataset, ptx } = prepared
  const context: LoadContext = job
  const { live = {} } = job
  const loaded: { dispose(): void }[] = []
  const keep = <T extends { dispose(): void }>(model: T): T => {
    loaded.push(model)
    return model
  }
  let opened: OpenedGenerator | undefined
  const close = async (): Promise<void> => {
    await opened?.close()
    for (const model of loaded) model.dispose()
  }
  try {
    const role = 'language' as const
    const actor =
      (live.model as TokenModel<'language'> | undefined) ??
      keep(await loadTrained<'language'>(config.model, { ...config, texts, role, what: 'the actor' }, context))
    const reference = live.reference ?? (await loadReference(config, context, keep))
    const critic = needsCritic(config)
      ? (live.critic ?? keep(await loadCritic({ ...config, texts }, context)))
      : undefined
    const { emaDecay: decay } = config
    // In float32, because a bfloat16 average that moves by a thousandth would not change.
    const average =
      decay === undefined
        ? undefined
        : keep(
            await loadTrained<'language'>(
              config.model,
              { ...config, texts, role, dtype: 'float32', what: 'the average' },
              context,
            ),
          )
    opened = live.generator && { generator: live.generator, close: async () => {} }
    opened ??= await openGenerator({
      config: config.generator,
      actor: ofThisProcess(actor, 'generator: give a Generator that samples from it'),
      policy: actor instanceof DistributedModel ? actor : undefined,
      model: config.model,
      tokenizer,
      rollout: { ...config, samples: config.rolloutBatchSize * config.nSamplesPerPrompt },
      loraRank: config.lora?.rank,
      sleep: config.enableEngineSleep ? 'enabled' : undefined,
      logDirectory: join(run.directory, 'logs'),
      report: job.report,
      signal: job.signal,
      onEvent: event => {
        const { kind, url, message } = event
        run.event('engine', { what: kind, url, message })
        if (kind === 'drained' || kind === 'back' || kind === 'waiting') job.report.line(eventLine(event))
      },
    })
    const { generator } = opened
    checkCapabilities(config, generator)
    checkImportance(config, generator)
    // Where none was asked for: servers may take less than the model.
    const promptMaxLen = Math.min(config.promptMaxLen, promptLimit(job.config, generator.maxLength))
    if (promptMaxLen < 1)
      throw new InputError(
        `maxNewTokens: ${config.maxNewTokens} leaves no room for a prompt in the ${generator.maxLength} tokens of the servers`,
      )
    const { processor } = media
    const scoring = {
      ...(rewards as RewardEngineOptions),
      actor,
      tokenizer,
      ...(processor ? { processor } : {}),
      generator,
      ...(reference === undefined ? {} : { reference }),
      ...(critic ? { critic } : {}),
    }
    const turns = turnsOf(scoring, config)
    const maker = new FastExperienceMaker({
      ...experienceOptionsOf(config),
      ...scoring,
      turns,
      promptMaxLen,
      ...(environment ? { environment } : {}),
      ...(config.episode ? { episode: config.episode } : {}),
      patienceMinutes: rewards.patienceMinutes ?? config.rewardPatienceMinutes,
      onAway: event => {
        run.event('reward', { ...event })
        if (event.what === 'waiting') job.report.warn(event.message)
        else job.report.line(event.message)
      },
      klController: config.klController,
    })
    const dtype = copyHere(actor)?.dtype ?? 'float32'
    const parts: RlParts = {
      actor,
      dtype,
      critic,
      ema: average && {
        model: average,
        follow: () => averageOver(average, actor, decay!),
      },
      generator,
      syncWeights: weightSync({
        actor,
        generator,
        turns,
        directory: weightsDirectoryOf(config),
        weights: config.generator.weights,
        dtype,
        // A server may take more than the model.
        proof: await proofTextOf({
          tokenizer,
          maxLength: Math.min(generator.maxLength, actor.maxLength),
          processor,
          generator,
        }),
        signal: job.signal,
      }),
      maker,
      media: media.storeIn(run.directory),
      turns,
      prompts: dataset.train(tokenizer),
      heldOut: dataset.validation(tokenizer),
      ptx: ptx?.train(tokenizer),
    }
    return { parts, device: deviceOf(actor), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** What only a model of this process can be used for. */
function ofThisProcess(actor: TokenModel<'language'>, remedy: string): LocalModel<'language'> {
  const here = copyHere(actor)
  if (here) return here
  throw new InputError(`model: it is not a model of this process; ${remedy}`)
}

async function loadReference(
  config: RlConfig,
  context: LoadContext,
  keep: (model: LoadedModel<'language'>) => LoadedModel<'language'>,
): Promise<LoadedModel<'language'> | 'adapter-off' | undefined> {
  const reference = referenceOf(config)
  if (reference === 'none') return undefined
  if (reference === 'adapter-off') return reference
  const { directory, adapter } = reference
  return keep(await loadFrozen(directory, { ...config, adapter, role: 'language', what: 'the reference' }, context))
}

/** A critic of its own, in full: an adapter is the policy's. */
function loadCritic(
  config: RlConfig & { readonly texts: string | undefined },
  context: LoadContext,
): Promise<LoadedModel<'value'>> {
  const { model = config.model, optimizer } = config.critic!
  const { lora: _, adapter: __, ...settings } = config
  return loadTrained(model, { ...settings, role: 'value', optimizer, what: 'the critic' }, context)
}
