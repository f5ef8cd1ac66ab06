/**
 * Turns prompts into experiences with advantages: generation and rewards at the same time, inference by actor, reference and
 * critic, then advantages.
 */

import type { DataRow, Prompt, PromptRow } from '../data/index.js'
import {
  type DerivedRollout,
  deriveAdvantages,
  highEntropyMask,
  initialRunningMoments,
  type KlController,
  pickAdvantageOptions,
  type ResolvedAdvantageOptions,
  type RolloutSample,
  type RunningMoments,
  restoreKlController,
  restoreRunningMoments,
  updateKlController,
} from '../maths/index.js'
import type { PolicyVersion } from '../model/index.js'
import {
  type ResolvedRewardModels,
  RewardComputationEngine,
  type RewardEngineOptions,
  rewardModelsOf,
  rewardOptionNames,
} from '../reward/index.js'
import type { Generator } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import { batchInfo } from './batch-info.js'
import { type Collected, Collector, type ScoredSample, withoutStale } from './collect.js'
import {
  type ExperienceConfig,
  ExperienceConfigError,
  type ExperienceOptions,
  type ExperienceParts,
  type GenerationOptions,
  resolveExperienceConfig,
  structuredNeeds,
} from './config.js'
import type { Experience, ExperienceBatch, StageSeconds } from './experience.js'
import { type InferenceOptions, type Scorer, scoreResponses } from './inference.js'
import { checkedParts } from './maker-parts.js'
import { ModelTurns, noTurns, type Resident, type Turns } from './model-turns.js'
import { type EncodedPrompt, encodePrompt, promptLimit, promptRow } from './prompts.js'
import { isResident, modelsOfRewards, rewardsInTurns } from './reward-turns.js'
import type { Inference, RolloutJournal } from './rollout-journal.js'

type RewardOptions = Omit<RewardEngineOptions, 'tokenizer'>
type ResolvedRewardOptions = Omit<RewardOptions, 'rewardModel'> & { readonly rewardModel?: ResolvedRewardModels }

/** A null part is the same as a missing one. */
export interface FastExperienceMakerOptions extends ExperienceOptions, RewardOptions {
  /** Its log-probabilities are the ones that training starts from. */
  readonly actor: Scorer<'language'>
  /** What `gae` needs. */
  readonly critic?: Scorer<'value'> | null
  /** The model that KL is measured to; `adapter-off`: a LoRA actor without its adapter. */
  readonly reference?: Scorer<'language'> | 'adapter-off' | null
  /** Another name of `reference`. */
  readonly initialModel?: FastExperienceMakerOptions['reference']
  readonly tokenizer: Tokenizer
  /** The generator: an engine over the weights of the actor, or a server. */
  readonly generator: Generator
  /** Default: fixed, with a coefficient of 0.01 where there is a reference. */
  readonly klController?: KlController
}

/** Without the parts that are null. */
type Parts = Omit<FastExperienceMakerOptions, 'critic' | 'reference' | 'initialModel'> & {
  readonly critic?: Scorer<'value'>
  readonly reference?: Scorer<'language'> | 'adapter-off'
}

export interface MakeOptions<Row = DataRow> extends GenerationOptions {
  /** Discount per token, for this call. Default: the maker's. */
  readonly gamma?: number
  /** GAE's lambda, for this call. Default: the maker's. */
  readonly lambd?: number
  /** Fresh prompts for groups that were dropped. */
  readonly morePrompts?: Iterable<Prompt | PromptRow<Row>> | AsyncIterable<Prompt | PromptRow<Row>>
  /**
   * `evaluation` does not change the running statistics and the KL coefficient, and keeps every group: groups with equal rewards
   * are not replaced. Default `training`.
   */
  readonly purpose?: 'training' | 'evaluation'
  /** Samples of each prompt in an evaluation. Default 1. */
  readonly evaluationSamples?: number
  /**
   * `skip` does not score the log-probabilities of the actor. Use it if exactly one optimiser step follows (it computes the same
   * numbers), no importance weights are used, and KL is not part of the rewards. The trainer then measures KL. Default `score`.
   */
  readonly oldLogprobs?: 'score' | 'skip'
  /** Groups with a sample whose first token came from older weights are dropped as stale. Default: of any age. */
  readonly oldestVersion?: PolicyVersion
  readonly journal?: RolloutJournal
  readonly signal?: AbortSignal
}

/** State to save and restore. Plain JSON. */
export interface ExperienceState {
  readonly calls: number
  readonly klController: KlController
  readonly runningMoments: RunningMoments
}

/**
 * @example
 * const maker = new FastExperienceMaker({
 *   actor,
 *   reference,
 *   tokenizer,
 *   generator: new LocalEngine(actor, { tokenizer }),
 *   sources: [sampleReward(({ response }) => (response.includes('42') ? 1 : 0), { name: 'answer' })],
 *   advantageEstimator: 'group_norm',
 *   nSamplesPerPrompt: 8,
 *   maxNewTokens: 64,
 * })
 * const { experiences, info } = await maker.makeExperienceList(['What is 6 x 7?'])
 */
export class FastExperienceMaker {
  readonly config: ExperienceConfig
  readonly rewards: RewardComputationEngine
  private readonly turns: Turns
  private calls = 0
  private klController: KlController
  private runningMoments: RunningMoments = initialRunningMoments
  private readonly options: Parts

  constructor(given: FastExperienceMakerOptions) {
    const options = checkedParts(given) as Parts
    this.options = options
    const { own, rewards } = divided(options)
    this.config = resolveExperienceConfig(own, { critic: options.critic !== undefined })
    this.klController = restoreKlController(options.klController ?? { kind: 'fixed' })
    const { generator, actor, critic, reference } = options
    const models = [critic, reference, ...modelsOfRewards(rewards)].filter(isResident)
    const { enableEngineSleep } = this.config
    this.turns = enableEngineSleep ? new ModelTurns({ generator, actor, models }) : noTurns(generator)
    this.rewards = new RewardComputationEngine({
      ...(enableEngineSleep ? rewardsInTurns(rewards, this.turns) : rewards),
      tokenizer: options.tokenizer,
    })
    this.checkModels()
  }

  /** For a checkpoint. */
  get state(): ExperienceState {
    const { calls, klController, runningMoments } = this
    return { calls, klController, runningMoments }
  }

  restore(state: ExperienceState): void {
    this.calls = state.calls
    this.klController = restoreKlController(state.klController)
    this.runningMoments = restoreRunningMoments(state.runningMoments)
  }

  /** All stages. */
  async makeExperienceList<Row = DataRow>(
    prompts: readonly (Prompt | PromptRow<Row>)[],
    options: MakeOptions<Row> = {},
  ): Promise<ExperienceBatch<Row>> {
    this.checkOldLogprobs(options)
    return this.completeExperiences(await this.generateSamples(prompts, options), options)
  }

  /** The first stage: samples with their rewards, in whole groups. No weight of actor, critic or reference is read. */
  async generateSamples<Row = DataRow>(
    prompts: readonly (Prompt | PromptRow<Row>)[],
    options: MakeOptions<Row> = {},
  ): Promise<Collected> {
    return this.collect(prompts, options)
  }

  /** The stages after it, of samples that were generated before under the same options. */
  async completeExperiences<Row = DataRow>(
    generated: Collected,
    options: MakeOptions<Row> = {},
  ): Promise<ExperienceBatch<Row>> {
    this.checkOldLogprobs(options)
    const started = performance.now()
    const { config } = this.settingsOf(options)
    const collected = withoutStale(generated, options.oldestVersion)
    const samples = collected.groups.flat()
    const seconds = { ...noSeconds, ...collected.seconds }
    const inferences = await this.inferences(samples, config, seconds, options)
    await this.turns.end()
    const deriving = performance.now()
    const rollout = samples.map((sample, i) => rolloutSample(sample, inferences[i]!))
    const derived = this.getAdvantagesAndReturns(rollout, config)
    if (options.purpose !== 'evaluation') this.learn(derived)
    const experiences = samples.map((sample, i) => this.experience<Row>(sample, inferences[i]!, derived, i, config))
    const now = performance.now()
    seconds.advantages = (now - deriving) / 1000
    const { encoding, generation, reward } = collected.seconds
    seconds.total = encoding + generation + reward + (now - started) / 1000
    const info = batchInfo({
      advantages: derived.info,
      samples,
      entropies: inferences.map(({ entropy }) => entropy),
      collected,
      dropped: collected.dropped,
      seconds,
      scoring: config,
    })
    return { experiences, info, dropped: collected.dropped }
  }

  private checkOldLogprobs({ oldLogprobs }: Pick<MakeOptions, 'oldLogprobs'>): void {
    if (oldLogprobs === 'skip' && this.klCoef > 0 && !this.config.useKlLoss)
      throw new RangeError('oldLogprobs: KL in the rewards needs the log-probabilities of the actor; set it to score')
  }

  /** Scores samples with actor, reference and critic. */
  async makeExperience(
    samples: readonly ScoredSample[],
    options: GenerationOptions & { signal?: AbortSignal } = {},
  ): Promise<Inference[]> {
    const { signal, ...generation } = options
    await this.turns.beginScoring()
    // The samples are there already: how they were drawn is not judged here.
    return this.inferences(
      samples,
      this.configFor(generation, 'evaluation'),
      { ...noSeconds },
      signal ? { signal } : {},
    )
  }

  /** Shaping, normalisation, KL, advantages and returns. The running statistics are read, not changed. */
  getAdvantagesAndReturns(samples: readonly RolloutSample[], config: ExperienceConfig = this.config): DerivedRollout {
    return deriveAdvantages({
      samples,
      options: { ...this.advantageOptions(config), klCoef: this.klCoef },
      runningMoments: this.runningMoments,
    })
  }

  private get hasReference(): boolean {
    return this.options.reference !== undefined
  }

  private advantageOptions(config: ExperienceConfig): ResolvedAdvantageOptions {
    return pickAdvantageOptions(config as ResolvedAdvantageOptions)
  }

  /** The KL coefficient: in the rewards of the next rollout, or in the loss. */
  get klCoef(): number {
    return this.hasReference ? this.klController.coef : 0
  }

  /** For a rollout made without the actor's log-probabilities: the KL that its training measured, once. */
  observeKl(measured: { kl: number; samples: number }): void {
    this.klController = updateKlController(this.klController, { kl: measured.kl, nSteps: measured.samples })
  }

  /** Runs work of a model, such as its training, while it has the device. */
  withModel<T>(model: Resident, work: () => Promise<T>): Promise<T> {
    return this.turns.use(model, work)
  }

  private learn({ runningMoments, info }: DerivedRollout): void {
    this.runningMoments = runningMoments
    if (info.kl !== undefined) this.observeKl({ kl: info.kl, samples: info.samples })
  }

  private configFor(generation: GenerationOptions, purpose: NonNullable<ExperienceParts['purpose']>): ExperienceConfig {
    const given = Object.entries(generation).filter(([, value]) => value !== undefined)
    if (given.length === 0) return this.config
    return resolveExperienceConfig(
      { ...this.config, ...Object.fromEntries(given) },
      { critic: this.options.critic !== undefined, purpose },
    )
  }

  /** Which prompts, and how they are sampled. */
  private settingsOf<Row>(options: MakeOptions<Row>) {
    const { morePrompts, signal, journal, ...more } = options
    const { purpose = 'training', evaluationSamples = 1, oldLogprobs: _, oldestVersion: __, ...generation } = more
    const usual = this.configFor(generation, purpose)
    const config =
      purpose === 'training' ? usual : { ...usual, dynamicSampling: false, nSamplesPerPrompt: evaluationSamples }
    return { config, morePrompts, signal, journal }
  }

  private async collect<Row>(
    prompts: readonly (Prompt | PromptRow<Row>)[],
    options: MakeOptions<Row>,
  ): Promise<Collected> {
    const { config, morePrompts, signal, journal } = this.settingsOf(options)
    const started = performance.now()
    signal?.throwIfAborted()
    const limit = promptLimit(config, this.options.generator.maxLength)
    if (limit < 1) throw new ExperienceConfigError([noRoom(config, this.options.generator)])
    const call = this.calls++
    let place = 0
    const encode = (row: PromptRow<Row>): Promise<EncodedPrompt> =>
      encodePrompt(row as PromptRow, {
        tokenizer: this.options.tokenizer,
        promptTruncation: config.promptTruncation,
        chatTemplate: config.chatTemplate,
        limit,
        promptId: `${call}.${place++}`,
      })
    const given = prompts.map(promptRow)
    this.rewards.checkLabels(given.map(({ label }) => label))
    const encoded = await Promise.all(given.map(encode))
    refuseTwice(encoded.map(({ promptId }) => promptId))
    if (journal) await Promise.all(encoded.map(prompt => journal.keepPrompt(prompt)))
    const source = morePrompts && iteratorOf(morePrompts)
    const collector = new Collector({
      name: `${call}`,
      generator: this.options.generator,
      rewards: this.rewards,
      tokenizer: this.options.tokenizer,
      config,
      turns: this.turns,
      nextPrompt:
        source &&
        (async () => {
          const next = await source.next()
          if (next.done) return undefined
          const prompt = await encode(promptRow(next.value))
          await journal?.keepPrompt(prompt)
          return prompt
        }),
      journal,
      signal,
    })
    const encoding = (performance.now() - started) / 1000
    const collected = await collector.collect(encoded)
    return { ...collected, seconds: { ...collected.seconds, encoding } }
  }

  /** All from the journal, or all from the models; never mixed, because models score samples in batches. */
  private async inferences(
    samples: readonly ScoredSample[],
    config: ExperienceConfig,
    seconds: StageSeconds,
    options: Pick<MakeOptions, 'journal' | 'oldLogprobs' | 'signal'>,
  ): Promise<Inference[]> {
    const { journal } = options
    const keys = samples.map(({ prompt, sample }) => ({ promptId: prompt.promptId, sample: sample.sample }))
    const known = journal && keys.map(key => journal.inference(key)).filter(one => one !== undefined)
    if (known && known.length === samples.length) return known
    const inferences = await this.infer(samples, config, seconds, options)
    await journal?.keepInferences(keys.map((key, i) => ({ ...key, inference: inferences[i]! })))
    return inferences
  }

  /** Role by role, so that each model is brought to the device once. */
  private async infer(
    samples: readonly ScoredSample[],
    config: ExperienceConfig,
    seconds: StageSeconds,
    { oldLogprobs = 'score', signal }: Pick<MakeOptions, 'oldLogprobs' | 'signal'>,
  ): Promise<Inference[]> {
    const { actor, critic, reference } = this.options
    const sequences = samples.map(({ sample }) => joined(sample.promptIds, sample.responseIds))
    const from = samples.map(({ sample }) => sample.promptIds.length)
    const shared: InferenceOptions = {
      microRolloutBatchSize: config.microRolloutBatchSize,
      packingSamples: config.packingSamples,
      ...(signal ? { signal } : {}),
    }
    const scaled = { ...shared, temperature: config.temperature || 1 }
    const timed = async <T>(
      stage: 'actor' | 'reference' | 'critic',
      model: Resident,
      work: () => Promise<T>,
    ): Promise<T> => {
      signal?.throwIfAborted()
      const started = performance.now()
      const found = await this.turns.use(model, work)
      seconds[stage] += (performance.now() - started) / 1000
      return found
    }
    const refer = (model: Scorer<'language'>, adapter: 'on' | 'off') =>
      timed('reference', model, () => scoreResponses<'language'>(model, sequences, from, { ...scaled, adapter }))
    // The actor last: training needs it next.
    const other = reference === 'adapter-off' ? undefined : reference
    const apart = other && (await refer(other, 'on'))
    const valued =
      critic && (await timed('critic', critic, () => scoreResponses<'value'>(critic, sequences, from, shared)))
    const { entropy } = actor.capabilities
    const acted =
      oldLogprobs === 'skip'
        ? undefined
        : await timed('actor', actor, () => scoreResponses<'language'>(actor, sequences, from, { ...scaled, entropy }))
    const referred = reference === 'adapter-off' ? await refer(actor, 'off') : apart
    return samples.map((_, i) => ({
      logprobs: acted?.[i]?.logprobs,
      entropy: acted?.[i]?.entropies,
      refLogprobs: referred?.[i]?.logprobs,
      values: valued?.[i]?.values,
    }))
  }

  private experience<Row>(
    scored: ScoredSample,
    inference: Inference,
    derived: DerivedRollout,
    place: number,
    config: ExperienceConfig,
  ): Experience<Row> {
    const { prompt, sample, texts, reward } = scored
    const { advantages, returns, kl, shapedReward, overlongPenalty } = derived.samples[place]!
    const plain = config.skipSpecialTokens
    const { highEntropyTokenRatio: ratio } = config
    const length = sample.responseIds.length
    return {
      promptId: prompt.promptId,
      sample: sample.sample,
      prompt: plain ? texts.prompt : texts.promptRaw,
      response: plain ? texts.response : texts.responseRaw,
      texts,
      promptIds: sample.promptIds,
      responseIds: sample.responseIds,
      label: prompt.label,
      target: prompt.target,
      row: prompt.row as Row,
      finishReason: sample.finishReason as 'stop' | 'length',
      policyVersion: sample.policyVersion,
      versions: sample.versions,
      temperature: config.temperature || 1,
      ...inference,
      engineLogprobs: sample.logprobs,
      reward: reward.reward,
      components: reward.components,
      metrics: reward.metrics,
      overlongPenalty,
      shapedReward,
      kl,
      advantages,
      returns,
      lossMask:
        ratio > 0 && inference.entropy ? highEntropyMask(inference.entropy, ratio) : new Uint8Array(length).fill(1),
    }
  }

  private checkModels(): void {
    const { actor, reference, generator, klController } = this.options
    const { config } = this
    const problems: string[] = []
    if (reference === 'adapter-off' && !actor.capabilities.adapterOff)
      problems.push('reference: adapter-off needs an actor with an adapter, and this actor has none; give a model')
    if (reference === undefined && klController !== undefined && klController.coef !== 0)
      problems.push('klController: KL needs a reference; give one')
    if (config.highEntropyTokenRatio > 0 && !actor.capabilities.entropy)
      problems.push('highEntropyTokenRatio: this actor computes no entropies')
    const form = config.structured?.kind
    if (form !== undefined && !generator.capabilities.structured.includes(form))
      problems.push(`structured: this generator does not support ${form}; ${structuredNeeds}`)
    if (config.stop.length > 0 && !generator.capabilities.text)
      problems.push('stop: stop texts need a tokenizer, and this generator has none')
    if (config.enableEngineSleep && !generator.capabilities.sleep)
      problems.push('enableEngineSleep: this generator cannot sleep')
    if (promptLimit(config, generator.maxLength) < 1) problems.push(noRoom(config, generator))
    else if (config.promptMaxLen !== undefined && config.promptMaxLen >= generator.maxLength)
      problems.push(
        `promptMaxLen: ${config.promptMaxLen} leaves no room for a response; sequences of the engine have at most ${generator.maxLength} tokens`,
      )
    if (problems.length > 0) throw new ExperienceConfigError(problems)
  }
}

const noRoom = ({ maxNewTokens }: ExperienceConfig, { maxLength }: Generator): string =>
  `maxNewTokens: ${maxNewTokens} leaves no room for a prompt; sequences of the engine have at most ${maxLength} tokens. Lower it, or set promptMaxLen`

const noSeconds: StageSeconds = {
  encoding: 0,
  generation: 0,
  reward: 0,
  actor: 0,
  reference: 0,
  critic: 0,
  advantages: 0,
  total: 0,
}

const partNames = new Set(['actor', 'critic', 'reference', 'tokenizer', 'generator', 'klController'])
const rewardNames = new Set<string>(rewardOptionNames)

/** Splits one flat list of options into models, rewards and the rest; unknown options stay in the rest and are refused there. */
function divided(options: Parts): { own: ExperienceOptions; rewards: ResolvedRewardOptions } {
  const own: Record<string, unknown> = {}
  const rewards: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(options)) {
    if (partNames.has(name) || value === undefined) continue
    const target = rewardNames.has(name) ? rewards : own
    target[name] = value
  }
  const { rewardModel: _, ...others } = rewards
  const models = rewardModelsOf(options.rewardModel, options.tokenizer)
  return { own, rewards: { ...others, ...(models ? { rewardModel: models } : {}) } }
}

function rolloutSample({ prompt, sample, reward }: ScoredSample, inference: Inference): RolloutSample {
  const { logprobs, refLogprobs, values } = inference
  return {
    group: prompt.promptId,
    reward: reward.reward,
    length: sample.responseIds.length,
    logprobs,
    // KL needs both.
    refLogprobs: logprobs && refLogprobs,
    values,
  }
}

function joined(first: Int32Array, second: Int32Array): Int32Array {
  const whole = new Int32Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}

function refuseTwice(promptIds: readonly string[]): void {
  const seen = new Set<string>()
  for (const promptId of promptIds) {
    if (seen.has(promptId))
      throw new RangeError(`two prompts have the id "${promptId}"; samples of both would be the same`)
    seen.add(promptId)
  }
}

function iteratorOf<T>(items: Iterable<T> | AsyncIterable<T>): Iterator<T> | AsyncIterator<T> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
}
