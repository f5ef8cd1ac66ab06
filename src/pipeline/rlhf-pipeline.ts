/** Runs SFT, a reward model and PPO: all stages, one of them, or those that are not done yet. */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, realpath, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { InputError, refuse } from '../errors/index.js'
import { type EvaluationOptions, type EvaluationResult, evaluateModel } from '../evaluate/index.js'
import { checkNewDirectory, makeDirectory, readConfigFile, writeFileAtomic } from '../files/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { type RewardNames, ruleNames } from '../reward/index.js'
import { refuseHeld, takeLock } from '../run/index.js'
import { type Commits, locateModel, locateNames } from '../source/index.js'
import { Tokenizer } from '../text/index.js'
import { type ConfigLayer, fileLayer, loadDefinitions, type ResolvedConfig, runVersions } from '../train/index.js'
import { baseModelDirectory, checkSameTokenizer, givenTokenizer } from './base-model.js'
import { checkResume } from './check-resume.js'
import { type CheckedStage, checkStages } from './check-stages.js'
import { type PipelineConfig, type PipelineOptions, pipelinePaths, resolvePipelineConfig } from './config.js'
import { checkExtensions, type PipelineExtensions } from './extensions.js'
import { answerLength, promptFor, SampleLog, templateOf } from './sample-log.js'
import { generateSamples } from './samples.js'
import { fromSeedConfig, isSeedConfig } from './seed-config.js'
import { checkAllowed } from './stage-changes.js'
import { PipelineLog } from './stage-logs.js'
import { refuseUnfinished, runStage, type StageResult } from './stage-runner.js'
import { givenOrMade, type StageName, stageModel, stageNames, usesRewardModel, wholePipeline } from './stages.js'
import { unusedOptions } from './unused-options.js'

export interface PipelineSettings extends PipelineExtensions {
  /** Receives progress. Default: nothing. */
  readonly report?: Report
  /** Further layers over the config, such as those of a command line. */
  readonly layers?: readonly ConfigLayer[]
}

export interface RunOptions {
  /** Continue a stage that was started and not finished. Default: such a stage is an error. */
  readonly resume?: boolean
  /**
   * Options that a resumed stage may change, such as `ppoIterations`: it continues with the new values from its last checkpoint,
   * also if it was finished. Default: none; other changes are an error, or start the stage again.
   */
  readonly allowChange?: readonly string[]
  /** A soft stop: the current optimiser step is finished, a checkpoint saved. */
  readonly signal?: AbortSignal
}

export interface PipelineResult {
  readonly outcome: 'finished' | 'stopped'
  readonly stages: readonly StageResult[]
  /** The directory of the last stage's model. */
  readonly model: string
}

/**
 * A pipeline from a config, or from a file of one. Nothing is written before a stage runs.
 *
 * @example
 * const pipeline = await createRlhfPipeline({ baseModel: 'model', sftDataPath: 'conversations.jsonl', saveDir: 'rlhf' })
 * const { model } = await pipeline.runFullPipeline()
 * console.log(await pipeline.generateSample('What is 2 + 2?', { model }))
 */
export async function createRlhfPipeline(
  config: PipelineOptions | string | URL,
  { report = silentReport, layers = [], ...extensions }: PipelineSettings = {},
): Promise<RlhfPipeline> {
  if (typeof config !== 'string' && (typeof config !== 'object' || config === null || Array.isArray(config)))
    throw new InputError('config: expected an object of options, or the path of a config file')
  checkExtensions({ ...extensions })
  const first = isFile(config) ? await configLayer(config) : { origin: 'config', values: { ...config } }
  const loaded = await loadDefinitions([first, ...layers], stageNames)
  return new RlhfPipeline(resolvePipelineConfig(loaded), { report, extensions })
}

const isFile = (config: PipelineOptions | string | URL): config is string | URL =>
  typeof config === 'string' || config instanceof URL

async function configLayer(from: string | URL): Promise<ConfigLayer> {
  const file = typeof from === 'string' ? from : fileURLToPath(from)
  const layer = fileLayer(file, await readConfigFile(file))
  return isSeedConfig(file, layer.values) ? { ...layer, values: fromSeedConfig(file, layer.values) } : layer
}

export class RlhfPipeline {
  readonly config: PipelineConfig
  /** Where each option came from, by dotted path. */
  readonly origins: Readonly<Record<string, string>>
  readonly #report: Report
  readonly #extensions: PipelineExtensions

  get #resolved(): ResolvedConfig<PipelineConfig> {
    return { config: this.config, origins: this.origins }
  }

  constructor(
    resolved: ResolvedConfig<PipelineConfig>,
    { report, extensions }: { report: Report; extensions: PipelineExtensions },
  ) {
    this.config = resolved.config
    this.origins = resolved.origins
    this.#report = report
    this.#extensions = extensions
  }

  /** Supervised fine-tuning: `sft/best_model`. Begins with the config's `baseModel`, or with the one that is given. */
  async runSft({ baseModel, ...options }: RunOptions & { baseModel?: string } = {}): Promise<StageResult> {
    return this.#with({ baseModel }).#one('sft', options)
  }

  /** The reward model: `reward_model/best_model`. Begins with what SFT made, or with `sftModel`. */
  async runRewardTraining({ sftModel, ...options }: RunOptions & { sftModel?: string } = {}): Promise<StageResult> {
    return this.#with({ sftModel }).#one('reward', options)
  }

  /** The last stage: `ppo/final_model`, or that of another algorithm. Begins with what the others made, or with what is given. */
  async runPpoTraining({
    sftModel,
    rewardModel,
    ...options
  }: RunOptions & { sftModel?: string; rewardModel?: string } = {}): Promise<StageResult> {
    return this.#with({ sftModel, rewardModel }).#one('ppo', options)
  }

  /** All stages, or those that are named, in their order. What all of them need is checked before the first begins. */
  async runFullPipeline({
    stages,
    baseModel,
    ...options
  }: RunOptions & { stages?: readonly StageName[]; baseModel?: string } = {}): Promise<PipelineResult> {
    const results = await this.#with({ baseModel }).#run(this.#inOrder(stages), options)
    const last = results.at(-1)!
    return { outcome: last.outcome === 'stopped' ? 'stopped' : 'finished', stages: results, model: last.model }
  }

  /** Options that were given and that no stage reads, such as `rewardLr` where `algorithm` is `dpo`. */
  get unusedOptions(): readonly string[] {
    return unusedOptions(this.#resolved)
  }

  /** What a run would find, without running or writing anything; what a run refuses at its start is refused. */
  async check({
    stages,
    baseModel,
    ...options
  }: RunOptions & { stages?: readonly StageName[]; baseModel?: string } = {}): Promise<CheckedStage[]> {
    const run = runOptions(options)
    const { saveDir } = this.config
    await checkNewDirectory(saveDir).catch(error => refuse('saveDir', error))
    await refuseHeld(join(saveDir, 'lock'))
    const into = await mkdtemp(join(tmpdir(), 'whetstone-pipeline-'))
    try {
      const place = { into: join(into, 'base_model'), rows: 'encode' } as const
      const { pipeline, checked } = await this.#with({ baseModel }).#checked(this.#inOrder(stages), run, place)
      await refuseUnfinished(checked, pipeline.#surroundings(checked, run))
      return checked
    } finally {
      await rm(into, { recursive: true, force: true })
    }
  }

  /** An answer of a model: of the last finished stage, or a given one. The model is loaded for this call only. */
  async generateSample(
    prompt: string,
    options: { model?: string; maxNewTokens?: number; temperature?: number; seed?: number; signal?: AbortSignal } = {},
  ): Promise<string> {
    const { temperature = 0, seed = this.config.seed, signal = never } = options
    const { directory: model } = await locateModel(options.model ?? this.#latestModel(), {
      report: this.#report,
      signal,
    })
    const { maxNewTokens = await answerLength(this.config, model) } = options
    const chatTemplate = templateOf(this.config)
    const tokenizer = await Tokenizer.load(model, { chatTemplate })
    const settings = { device: this.config.device, chatTemplate, maxNewTokens, temperature, seed, signal }
    const [answer] = await generateSamples(model, [promptFor(prompt, tokenizer, this.config)], settings)
    return answer!.sample.response
  }

  /**
   * Evaluates a model on held-out data: the one of the last finished stage, or a given one, against the SFT model (or
   * `reference`). The rewards are those of the pipeline. The numbers are those of `whetstone eval`.
   */
  async evaluateModel(
    options: Omit<EvaluationOptions, 'model'> & { readonly model?: string },
  ): Promise<EvaluationResult> {
    const { config } = this
    const { model = this.#latestModel() } = options
    const sft = givenOrMade(config, 'sft')
    // Compare real paths: either may be relative, or a link.
    const isSft = (await realpath(model).catch(() => model)) === (await realpath(sft).catch(() => sft))
    const reward = usesRewardModel(config) ? givenOrMade(config, 'reward') : config.ppo.rewards
    return evaluateModel({
      device: config.device,
      chatTemplate: templateOf(config),
      maxNewTokens: await answerLength(config, model),
      ...(!isSft && existsSync(sft) ? { reference: sft } : {}),
      ...(isReward(reward) ? { reward } : {}),
      report: this.#report,
      ...options,
      model,
    })
  }

  /** The same pipeline with models in place of what earlier stages make. */
  #with(models: Partial<Record<'baseModel' | 'sftModel' | 'rewardModel', string | undefined>>): RlhfPipeline {
    const given = Object.fromEntries(Object.entries(models).filter(([, model]) => model !== undefined))
    const config = { ...this.config, ...given }
    return new RlhfPipeline({ config, origins: this.origins }, { report: this.#report, extensions: this.#extensions })
  }

  async #one(stage: StageName, options: RunOptions): Promise<StageResult> {
    const [result] = await this.#run([stage], options)
    return result!
  }

  async #run(stages: readonly StageName[], options: RunOptions): Promise<StageResult[]> {
    const run = runOptions(options)
    const { saveDir } = this.config
    await checkNewDirectory(saveDir).catch(error => refuse('saveDir', error))
    await makeDirectory(saveDir)
    const lock = await takeLock(join(saveDir, 'lock'))
    try {
      const place = { into: join(saveDir, 'base_model'), rows: 'read' } as const
      const { pipeline, checked, commits } = await this.#checked(stages, run, place)
      return await pipeline.#runChecked(checked, run, commits)
    } finally {
      await lock.release()
      // Remove the directory if nothing was started.
      await rmdir(saveDir).catch(() => {})
    }
  }

  /**
   * Everything before the first stage, of a run and of a dry run. Names of the Hub become directories; a resume uses the commits of
   * the start.
   */
  async #checked(
    stages: readonly StageName[],
    { resume, allowChange, signal }: Required<RunOptions>,
    place: { readonly into: string; readonly rows: 'read' | 'encode' },
  ): Promise<{ pipeline: RlhfPipeline; checked: CheckedStage[]; commits: Commits }> {
    const { saveDir } = this.config
    const recorded = resume ? await recordedCommits(saveDir) : undefined
    const around = { options: pipelinePaths, recorded, allowChange, report: this.#report, signal }
    const { config, commits } = await locateNames(this.config, around)
    const extensions = this.#extensions
    const pipeline = new RlhfPipeline({ config, origins: this.origins }, { report: this.#report, extensions })
    const checked = await pipeline.#check(stages, { ...place, resume, signal })
    if (resume) await checkResume(checked, { config, extensions, allowChange })
    return { pipeline, checked, commits }
  }

  #surroundings(checked: readonly CheckedStage[], run: Required<RunOptions>) {
    const { config } = checked[0]!.resolved
    return { pipeline: this.#resolved, extensions: this.#extensions, report: this.#report, ...run, base: config.model }
  }

  async #runChecked(
    checked: readonly CheckedStage[],
    run: Required<RunOptions>,
    commits: Commits,
  ): Promise<StageResult[]> {
    await this.#keepConfig(commits)
    const log = new PipelineLog(this.config, this.#report)
    for (const name of this.unusedOptions)
      await log.write('warning', `${name}: has no effect: no stage of this pipeline uses it`)
    const samples = await SampleLog.open(this.config, checked, run.signal)
    const around = { ...this.#surroundings(checked, run), log, samples }
    const results: StageResult[] = []
    for (const one of checked) {
      results.push(
        await runStage(one, around).catch(async (error: Error) => {
          await log.write('error', `${one.stage}: ${error.message}`)
          throw error
        }),
      )
      if (results.at(-1)!.outcome === 'stopped') break
    }
    return results
  }

  async #check(
    stages: readonly StageName[],
    { into, resume, rows, signal }: { into: string; resume: boolean; rows: 'read' | 'encode'; signal: AbortSignal },
  ): Promise<CheckedStage[]> {
    const context = { config: this.config, report: this.#report, signal }
    const existing = resume ? 'keep' : 'make'
    this.#refuseGiven(stages)
    const base = stages.includes('sft')
      ? await baseModelDirectory({ ...context, extensions: this.#extensions, into, existing })
      : undefined
    const checked = await checkStages(stages, this.#resolved, { base, rows, signal })
    // If SFT runs, its model has the given tokenizer; another model may not.
    const { tokenizerPath } = this.config
    if (base === undefined && tokenizerPath !== undefined)
      await checkSameTokenizer(checked[0]!.resolved.config.model, (await givenTokenizer(tokenizerPath)).dir)
    return checked
  }

  #inOrder(stages: readonly StageName[] = wholePipeline(this.config)): StageName[] {
    const wanted = stageNames.filter(name => stages.includes(name))
    const unknown = stages.find(name => !wanted.includes(name))
    if (unknown !== undefined || wanted.length === 0)
      throw new InputError(
        `stages: ${unknown === undefined ? 'expected at least one' : `there is no stage "${unknown}"`}; the stages are ${stageNames.join(', ')}`,
      )
    return wanted
  }

  /** Running the stage has no use if the others read another model. */
  #refuseGiven(stages: readonly StageName[]): void {
    const given = { sft: this.config.sftModel, reward: this.config.rewardModel, ppo: undefined }
    for (const stage of stages)
      if (given[stage] !== undefined)
        throw new InputError(
          `${stage}Model: ${given[stage]} replaces the result of the stage ${stage}, but that stage is selected to run`,
          { remedy: `Remove the stage ${stage}, or the option ${stage}Model.` },
        )
  }

  /** `config.json`: every option in force, and what it was run with. */
  async #keepConfig(commits: Commits): Promise<void> {
    const { config, origins } = this
    const kept = { schemaVersion: 1, versions: runVersions(), config, origins, commits }
    await writeFileAtomic(join(config.saveDir, 'config.json'), `${JSON.stringify(kept, undefined, 2)}\n`)
  }

  #latestModel(): string {
    const { config } = this
    const models = [stageModel(config, 'ppo'), givenOrMade(config, 'sft')]
    const found = models.find(model =>
      ['config.json', 'adapter_config.json'].some(name => existsSync(join(model, name))),
    )
    if (found === undefined)
      throw new InputError(
        `there is no model in ${config.saveDir} yet; run a stage first, or give a model: {model: DIR}`,
      )
    return found
  }
}

/** With defaults, and with names that there are. */
function runOptions({ resume = false, allowChange = [], signal = never }: RunOptions): Required<RunOptions> {
  if (allowChange.length > 0 && !resume) throw new InputError('allowChange: needs resume')
  checkAllowed(allowChange)
  return { resume, allowChange, signal }
}

/** Commits of the models and data sets of the Hub that a pipeline began with. */
async function recordedCommits(saveDir: string): Promise<Commits | undefined> {
  const text = await readFile(join(saveDir, 'config.json'), 'utf8').catch(() => undefined)
  const schema = z.object({ commits: z.record(z.string(), z.record(z.string(), z.string())).optional() })
  return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data?.commits
}

/** Names of rewards, unless they are of a reward model that is not there yet. */
function isReward(reward: unknown): reward is RewardNames {
  if (Array.isArray(reward)) return true
  return typeof reward === 'string' && (ruleNames.includes(reward) || existsSync(reward))
}

/** Of a call that nothing stops. */
const never = new AbortController().signal
