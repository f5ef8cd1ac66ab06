/**
 * Turns prompts into experiences with advantages: generation and rewards at the same time, inference by actor, reference and
 * critic, then advantages.
 */

import type { DataRow, Prompt, PromptRow } from '../data/index.js'
import { type EpisodeRules, episodeRules } from '../environment/index.js'
import { InputError } from '../errors/index.js'
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
import { RewardComputationEngine } from '../reward/index.js'
import { audioUnsupported, type Sequence, trainedCount } from '../sequence/index.js'
import { batchInfo } from './batch-info.js'
import { Collector } from './collect.js'
import { type Collected, type ScoredSample, sampledCount, sequencesOf, withoutStale } from './collected.js'
import {
  type ExperienceConfig,
  ExperienceConfigError,
  type ExperienceParts,
  type GenerationOptions,
  resolveExperienceConfig,
} from './config.js'
import { environmentSource, givesRewards } from './environment-rewards.js'
import type { Experience, ExperienceBatch, StageSeconds } from './experience.js'
import { inferSequences } from './inference.js'
import {
  checkCapabilities,
  checkedParts,
  divided,
  type FastExperienceMakerOptions,
  type MakeOptions,
  type MakerParts,
  noRoom,
  turnsOf,
} from './maker-options.js'
import type { Turns } from './model-turns.js'
import { type EncodedPrompt, encodePrompt, promptLimit, promptRow, taskPrompt } from './prompts.js'
import { rewardsInTurns } from './reward-turns.js'
import { concatenated } from './rolled-out.js'
import type { Inference } from './rollout-journal.js'

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
  private readonly environmentRewards: 'only' | 'added'
  private rules: Promise<EpisodeRules> | undefined
  private calls = 0
  private klController: KlController
  private runningMoments: RunningMoments = initialRunningMoments
  private readonly options: MakerParts

  constructor(given: FastExperienceMakerOptions) {
    const options = checkedParts(given)
    this.options = options
    const { own, rewards } = divided(options)
    this.config = resolveExperienceConfig(own, { critic: options.critic !== undefined })
    this.klController = restoreKlController(options.klController ?? { kind: 'fixed' })
    this.turns = options.turns ?? turnsOf(options, this.config)
    this.environmentRewards = options.environment && !givesRewards(rewards) ? 'only' : 'added'
    this.rewards = new RewardComputationEngine({
      ...rewardsInTurns(rewards, this.turns),
      ...(this.environmentRewards === 'only' ? { sources: [environmentSource] } : {}),
      tokenizer: options.tokenizer,
    })
    checkCapabilities(options, this.config)
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
    const experiences = samples.flatMap((sample, i) =>
      experiencesOf<Row>(sample, inferences[i]!, derived.samples[i]!, config),
    )
    const now = performance.now()
    seconds.advantages = (now - deriving) / 1000
    const { encoding, generation, reward } = collected.seconds
    seconds.total = encoding + generation + reward + (now - started) / 1000
    const info = batchInfo({
      advantages: derived.info,
      samples,
      entropies: inferences.map(({ entropies }) => entropies),
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

  /**
   * Checks the environment with the tokenizer and its chat template; undefined where there is none. Every rollout has the same clock, tools
   * and template.
   */
  episodeRules(): Promise<EpisodeRules> | undefined {
    const { environment, tokenizer, episode } = this.options
    if (!environment) return undefined
    this.rules ??= episodeRules({ environment, tokenizer, ...(episode ? { limits: episode } : {}) })
    return this.rules
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
    const { morePrompts, signal, journal, onProgress, ...more } = options
    const { purpose = 'training', evaluationSamples = 1, oldLogprobs: _, oldestVersion: __, ...generation } = more
    const usual = this.configFor(generation, purpose)
    const config =
      purpose === 'training' ? usual : { ...usual, dynamicSampling: false, nSamplesPerPrompt: evaluationSamples }
    return { config, morePrompts, signal, journal, onProgress }
  }

  private async collect<Row>(
    prompts: readonly (Prompt | PromptRow<Row>)[],
    options: MakeOptions<Row>,
  ): Promise<Collected> {
    const { config, morePrompts, signal, journal, onProgress } = this.settingsOf(options)
    const started = performance.now()
    signal?.throwIfAborted()
    const limit = promptLimit(config, this.options.generator.maxLength)
    if (limit < 1) throw new ExperienceConfigError([noRoom(config, this.options.generator)])
    const call = this.calls++
    let place = 0
    const episodes = await this.episodeRules()
    const encode = async (row: PromptRow<Row>): Promise<EncodedPrompt> => {
      const promptId = `${call}.${place++}`
      if (episodes) return taskPrompt(row as PromptRow, { promptId, tokenizer: this.options.tokenizer })
      return encodePrompt(row as PromptRow, {
        tokenizer: this.options.tokenizer,
        processor: this.options.processor,
        promptTruncation: config.promptTruncation,
        chatTemplate: config.chatTemplate,
        limit,
        promptId,
      })
    }
    const given = prompts.map(promptRow)
    this.rewards.checkLabels(given.map(({ label }) => label))
    const encoded = await Promise.all(given.map(encode))
    refuseTwice(encoded.map(({ sequence }) => sequence.promptId))
    if (journal) await Promise.all(encoded.map(prompt => journal.keepPrompt(prompt)))
    const source = morePrompts && iteratorOf(morePrompts)
    const collector = new Collector({
      name: `${call}`,
      // Training waits for an evaluation.
      order: options.purpose === 'evaluation' ? -1 : call,
      generator: this.options.generator,
      rewards: this.rewards,
      episodes,
      environmentRewards: this.environmentRewards,
      tokenizer: this.options.tokenizer,
      placeholderIds: this.options.processor?.placeholderIds ?? [],
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
      onProgress,
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
    options: Pick<MakeOptions, 'journal' | 'oldLogprobs' | 'signal' | 'onProgress'>,
  ): Promise<Inference[]> {
    const { journal } = options
    // The text alone would have other log-probabilities than the engine that heard the sound.
    const heard = samples.find(({ prompt }) => prompt.audios)
    if (heard) throw new InputError(`prompt ${heard.prompt.sequence.promptId}: ${audioUnsupported}`)
    const keys = samples.map(({ sequence, sample }) => ({ promptId: sequence.promptId, sample: sample.sample }))
    const known = journal && keys.map(key => journal.inference(key)).filter(one => one !== undefined)
    if (known && known.length === samples.length) return known
    const { oldLogprobs = 'score', signal, onProgress } = options
    const sequences = samples.flatMap(sequencesOf)
    const { turns } = this
    const asked = { config, turns, seconds, oldLogprobs, signal, onProgress }
    const found = await inferSequences(this.options, sequences, asked)
    const inferences = samples.map(sample => joinedInference(found.splice(0, sequencesOf(sample).length)))
    await journal?.keepInferences(keys.map((key, i) => ({ ...key, inference: inferences[i]! })))
    return inferences
  }
}

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

/** Of all segments of a sample. */
function joinedInference(parts: readonly Inference[]): Inference {
  if (parts.length === 1) return parts[0]!
  const joined = (name: keyof Inference): Float32Array | undefined => {
    const given = parts.map(part => part[name])
    return given.includes(undefined) ? undefined : concatenated(given as readonly Float32Array[])
  }
  return {
    logprobs: joined('logprobs'),
    entropies: joined('entropies'),
    refLogprobs: joined('refLogprobs'),
    values: joined('values'),
  }
}

function rolloutSample(sample: ScoredSample, inference: Inference): RolloutSample {
  const { sequence, reward } = sample
  const { logprobs, refLogprobs, values } = inference
  return {
    promptId: sequence.promptId,
    reward: reward.reward,
    length: sampledCount(sample),
    ...(sample.turns ? { turns: sample.turns } : {}),
    logprobs,
    // KL needs both.
    refLogprobs: logprobs && refLogprobs,
    values,
  }
}

/** One for each sequence of a sample: of an episode with several segments, each has its part of the numbers. */
function experiencesOf<Row>(
  scored: ScoredSample,
  inference: Inference,
  derived: DerivedRollout['samples'][number],
  config: ExperienceConfig,
): Experience<Row>[] {
  const sequences = sequencesOf(scored)
  const whole = experienceOf<Row>(scored, inference, derived, config)
  if (sequences.length === 1) return [whole]
  let start = 0
  return sequences.map((sequence, segment) => {
    const [from, to] = [start, start + trainedCount(sequence)]
    start = to
    const part = <T extends Float32Array | Float64Array | Uint8Array | undefined>(values: T): T =>
      values?.subarray(from, to) as T
    const { raw, processed } = whole.engineLogprobs
    return {
      ...whole,
      sequence: sequence as Sequence<Row>,
      segment,
      logprobs: part(whole.logprobs),
      entropies: part(whole.entropies),
      refLogprobs: part(whole.refLogprobs),
      values: part(whole.values),
      engineLogprobs: { ...(raw ? { raw: part(raw) } : {}), ...(processed ? { processed: part(processed) } : {}) },
      kl: part(whole.kl),
      advantages: part(whole.advantages),
      returns: part(whole.returns),
      lossMask: part(whole.lossMask),
    }
  })
}

function experienceOf<Row>(
  { prompt, sequence, further = [], turns, sample, texts, reward }: ScoredSample,
  inference: Inference,
  { tokenRewards: _, ...derived }: DerivedRollout['samples'][number],
  { skipSpecialTokens: plain, temperature, highEntropyTokenRatio: ratio }: ExperienceConfig,
): Experience<Row> {
  const { entropies } = inference
  return {
    sequence: sequence as Sequence<Row>,
    ...(turns ? { turns } : {}),
    sample: sample.sample,
    prompt: plain ? texts.prompt : texts.promptRaw,
    response: plain ? texts.response : texts.responseRaw,
    texts,
    label: prompt.label,
    target: prompt.target,
    finishReason: sample.finishReason as 'stop' | 'length',
    policyVersion: sample.policyVersion,
    versions: sample.versions,
    temperature: temperature || 1,
    ...inference,
    engineLogprobs: sample.logprobs,
    ...{ reward: reward.reward, components: reward.components, metrics: reward.metrics },
    ...derived,
    lossMask:
      ratio > 0 && entropies
        ? highEntropyMask(entropies, ratio)
        : new Uint8Array(sampledCount({ sequence, further })).fill(1),
  }
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
