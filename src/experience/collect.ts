/**
 * Generates and rewards samples at the same time, until every group is complete and the batch has the requested number of groups.
 */
import {
  type AskedEpisode,
  type EpisodeOutcome,
  type EpisodeRules,
  episodeWorld,
  runEpisodes,
} from '../environment/index.js'
import { InputError, linkedController } from '../errors/index.js'
import { configuredOverlongPenalty } from '../maths/index.js'
import {
  type FailedReward,
  type PromptMedia,
  promptMedia,
  type RewardComputationEngine,
  type RewardInput,
  type RewardOutcome,
} from '../reward/index.js'
import type { GenerationRequest, Generator, Outcome, SamplingParams } from '../rollout/index.js'
import type { MediaItem } from '../sequence/index.js'
import type { Tokenizer } from '../text/index.js'
import { type Collected, type ScoredSample, sampledCount } from './collected.js'
import type { ExperienceConfig } from './config.js'
import { completeGroup, type GroupMember, selectGroups } from './dynamic-sampling.js'
import { withEnvironmentReward } from './environment-rewards.js'
import { EngineLostError, EnvironmentLostError, RewardsLostError } from './errors.js'
import type { Dropped } from './experience.js'
import type { MakeOptions } from './maker-options.js'
import { checkedMediaTokens, type MediaTokenRules } from './media-tokens.js'
import { ModelGate } from './model-gate.js'
import type { Turns } from './model-turns.js'
import { countPrompts, type EncodedPrompt } from './prompts.js'
import { episodeLoss, lossOf, type RolledOut, rolledOut } from './rolled-out.js'
import type { JournalledReward, RolloutJournal } from './rollout-journal.js'

interface CollectOptions {
  /** Prefix of request ids: an engine may have requests of other rollouts at the same time. */
  readonly name: string
  /** Episodes of rollouts with a lower number start first. */
  readonly order: number
  readonly generator: Generator
  readonly rewards: RewardComputationEngine
  /** How samples are episodes of an environment; undefined: they are single responses. */
  readonly episodes: EpisodeRules | undefined
  /** `only`: the environment alone gives rewards. */
  readonly environmentRewards: 'only' | 'added'
  readonly tokenizer: Tokenizer
  /** Ids that no response may have. */
  readonly placeholderIds: readonly number[]
  readonly config: ExperienceConfig
  readonly turns: Turns
  /** Fresh prompts for groups that were dropped; undefined at its end. Without it their prompts are sampled again. */
  readonly nextPrompt: (() => Promise<EncodedPrompt | undefined>) | undefined
  /** Finished work of an earlier attempt, and the place to record new work. */
  readonly journal: RolloutJournal | undefined
  readonly signal: AbortSignal | undefined
  readonly onProgress?: MakeOptions['onProgress']
}

export function samplingParams(config: ExperienceConfig, tokenizer: Tokenizer): SamplingParams {
  return {
    seed: config.seed,
    maxNewTokens: config.maxNewTokens,
    minNewTokens: config.minNewTokens,
    temperature: config.temperature,
    ...(config.useFire ? { firstTemperature: config.firstTokenTemperature } : {}),
    topP: config.topP,
    topK: config.topK,
    ignoreEos: config.ignoreEos,
    stop: config.stop,
    stopIds: config.ignoreEos ? [] : tokenizer.turnEndIds,
    ...(config.structured ? { structured: config.structured } : {}),
  }
}

/** What scoring a sample needs of its round. */
interface Scoring {
  readonly gate: ModelGate
  readonly round: JournalledReward[]
  readonly signal: AbortSignal
}

/** One attempt at a group: a prompt and the samples asked for, from `first` on. */
interface Attempt {
  readonly prompt: EncodedPrompt
  readonly first: number
  readonly members: Map<number, ScoredSample | 'lost'>
  /** `refused`: the prompt can never be answered. */
  state: 'open' | 'whole' | 'incomplete' | 'refused'
}

export class Collector {
  private readonly dropped: Dropped[] = []
  private readonly seconds = { encoding: 0, generation: 0, reward: 0 }
  private rewardMs = 0
  private overlappedMs = 0
  private requests = 0
  private readonly failures: FailedReward[] = []
  private readonly media = new Map<EncodedPrompt, PromptMedia>()
  private readonly faults: string[] = []

  constructor(private readonly options: CollectOptions) {}

  /**
   * Further samples of a group that lost some, in all as many again as it should have. Episodes are not replaced: those that fail are
   * often the long ones, and a group without them would be another task.
   */
  private get samplesPerPlace(): number {
    return this.options.episodes ? 1 : 2
  }

  private get mediaTokens(): MediaTokenRules {
    const { placeholderIds, config } = this.options
    return { placeholderIds, mediaRepair: config.mediaRepair }
  }

  async collect(prompts: readonly EncodedPrompt[]): Promise<Collected> {
    const { config } = this.options
    const { maxResampleRounds, dynamicSampling } = config
    const rounds: Attempt[][] = []
    let next = prompts.map(prompt => attempt(prompt, 0))
    for (;;) {
      rounds.push(next)
      await this.fill(next)
      const scored = next.some(({ members }) => [...members.values()].some(found => found !== 'lost'))
      // If all samples failed, more samples would fail in the same way.
      if (!scored && this.failures.length > 0) throw new RewardsLostError(this.failures)
      if (!scored && this.faults.length > 0) throw new EnvironmentLostError(this.faults)
      this.failures.length = 0
      this.faults.length = 0
      const selection = selectGroups({
        needed: prompts.length,
        rounds: rounds.map(round => round.map(one => this.rewardsOf(one))),
        maxResampleRounds,
        degenerate: dynamicSampling ? 'drop' : 'keep',
      })
      const fresh = selection.next.kind === 'sample' ? await this.freshAttempts(rounds, selection.next.missing) : []
      if (fresh.length > 0) {
        next = fresh
        continue
      }
      const of = ({ round, place }: { round: number; place: number }): Attempt => rounds[round]![place]!
      for (const origin of selection.droppedEqual)
        this.dropGroup(of(origin), 'zero-variance', 'all samples earned the same')
      for (const origin of selection.surplus) this.dropGroup(of(origin), 'surplus', 'the batch was full')
      return {
        groups: selection.kept.map(origin => wholeGroup(of(origin), config.nSamplesPerPrompt)),
        dropped: this.dropped,
        rounds: rounds.length,
        missingGroups: prompts.length - selection.kept.length,
        promptCounts: countPrompts([...new Set(rounds.flat().map(one => one.prompt))]),
        seconds: this.seconds,
        rewardOverlap: this.rewardMs === 0 ? 0 : this.overlappedMs / this.rewardMs,
      }
    }
  }

  /** Prompts from the source; without one, those that were dropped, with further sample indices. */
  private async freshAttempts(rounds: readonly (readonly Attempt[])[], missing: number): Promise<Attempt[]> {
    const { nextPrompt, config } = this.options
    const fresh: Attempt[] = []
    if (nextPrompt) {
      while (fresh.length < missing) {
        const prompt = await nextPrompt()
        if (!prompt) break
        fresh.push(attempt(prompt, 0))
      }
      return fresh
    }
    if (!config.dynamicSampling) return []
    const last = new Map(rounds.flat().map(one => [one.prompt, one]))
    for (const one of last.values()) {
      if (fresh.length === missing) break
      if (one.state === 'refused' || !this.teachesNothing(one)) continue
      fresh.push(attempt(one.prompt, Math.max(...one.members.keys()) + 1))
    }
    return fresh
  }

  private teachesNothing(one: Attempt): boolean {
    const rewards = this.rewardsOf(one)
    return rewards === 'incomplete' || Array.from(rewards).every(reward => reward === rewards[0])
  }

  /** With their overlong penalty: what dynamic sampling and the estimators compare. */
  private rewardsOf(one: Attempt): readonly number[] | 'incomplete' {
    if (one.state !== 'whole') return 'incomplete'
    const { config } = this.options
    return wholeGroup(one, config.nSamplesPerPrompt).map(
      one => one.reward.reward + configuredOverlongPenalty(sampledCount(one), config),
    )
  }

  /** Samples and scores until each attempt is whole, or has lost too many. */
  private async fill(attempts: readonly Attempt[]): Promise<void> {
    const { nSamplesPerPrompt } = this.options.config
    for (const one of attempts) {
      const { tooLong, mediaProblem } = one.prompt
      if (!tooLong && mediaProblem === undefined) continue
      one.state = 'refused'
      if (mediaProblem !== undefined) {
        this.drop(one.prompt, 0, 'generation', 'media', mediaProblem)
        continue
      }
      this.drop(
        one.prompt,
        0,
        'generation',
        'prompt-too-long',
        `the prompt has ${one.prompt.sequence.ids.length} tokens`,
      )
    }
    for (;;) {
      const wanted: { one: Attempt; indices: readonly number[] }[] = []
      for (const one of attempts) {
        if (one.state !== 'open') continue
        const members: GroupMember[] = [...one.members].map(([sampleIndex, found]) => ({
          sampleIndex,
          outcome: found === 'lost' ? 'lost' : 'scored',
        }))
        const first = Array.from({ length: nSamplesPerPrompt }, (_, i) => one.first + i)
        const decision =
          members.length === 0
            ? ({ kind: 'sample', sampleIndices: first } as const)
            : completeGroup({ members, nSamplesPerPrompt, maxSamples: this.samplesPerPlace * nSamplesPerPrompt })
        if (decision.kind === 'sample') wanted.push({ one, indices: decision.sampleIndices })
        else if (decision.kind === 'complete') one.state = 'whole'
        else {
          one.state = 'incomplete'
          this.dropGroup(one, 'group-incomplete', `${decision.lost} of its samples failed`)
        }
      }
      if (wanted.length === 0) return
      await this.sample(wanted)
    }
  }

  /** Generates samples; each gets its reward while others still generate. What the journal knows is not generated again. */
  private async sample(wanted: readonly { one: Attempt; indices: readonly number[] }[]): Promise<void> {
    const { generator, journal, turns, signal } = this.options
    const { episodes } = this.options
    const { known, requests, byRequest } = episodes ? noRequests : this.divide(wanted)
    const asked = episodes ? askedEpisodes(wanted) : []
    if (requests.length + asked.length > 0) await turns.beginGeneration()
    const stop = linkedController([signal])
    const both = stop.signal
    const tasks: Promise<void>[] = []
    const gate = new ModelGate(wanted.map(({ one }) => one.prompt.sequence.promptId))
    const round: JournalledReward[] = []
    const calls: { start: number; end: number }[] = []
    const started = performance.now()
    let failure: { error: unknown } | undefined
    const total = requests.reduce((sum, { n = 1 }) => sum + n, known.length + asked.length)
    const done = { generating: known.length, rewards: 0 }
    let stage: keyof typeof done = 'generating'
    const tell = (): void => this.options.onProgress?.({ stage, done: done[stage], total })
    const begin = (work: Promise<void>): void => {
      const task = work.catch(error => {
        failure ??= { error }
        stop.abort()
      })
      tasks.push(task)
    }
    const take = (one: Attempt, outcome: Outcome | EpisodeOutcome): void => {
      const work = this.scoring(one, outcome, { gate, round, signal: both })
      if (!work) done.rewards++
      if (!work) return
      const call = { start: performance.now(), end: Number.POSITIVE_INFINITY }
      calls.push(call)
      begin(
        work.finally(() => {
          call.end = performance.now()
          done.rewards++
          if (stage === 'rewards') tell()
        }),
      )
    }
    try {
      tell()
      for (const { one, outcome } of known) take(one, checkedMediaTokens(outcome, this.mediaTokens))
      for await (const given of requests.length === 0 ? [] : generator.generate(requests, { signal: both })) {
        const outcome = checkedMediaTokens(given, this.mediaTokens)
        signal?.throwIfAborted()
        if (failure) break
        // The sample is not at fault, and others would fail too: keep finished work and stop.
        if (outcome.kind === 'failed' && outcome.reason === 'unreachable') throw new EngineLostError(outcome.message)
        // Do not record an interrupted sample: a resumed rollout generates it again.
        const broken = outcome.kind === 'completed' && outcome.finishReason === 'abort'
        if (journal && !broken) begin(journal.keepOutcome(outcome))
        take(byRequest.get(outcome.requestId)!, outcome)
        done.generating++
        tell()
      }
      if (episodes)
        for await (const { one, outcome } of this.runEpisodes(episodes, asked, both)) {
          signal?.throwIfAborted()
          if (failure) break
          take(one, outcome)
          done.generating++
          tell()
        }
      const generated = performance.now()
      stage = 'rewards'
      tell()
      this.seconds.generation += (generated - started) / 1000
      await gate.arrived()
      await turns.beginScoring()
      gate.open()
      await Promise.all(tasks)
      if (journal && round.length > 0 && !failure) await journal.keepRewards(inOrder(round, wanted))
      this.seconds.reward += (performance.now() - generated) / 1000
      for (const { start, end } of calls) {
        this.rewardMs += end - start
        this.overlappedMs += Math.max(0, Math.min(end, generated) - start)
      }
    } catch (error) {
      stop.abort()
      // Unblock waiting tasks so that they observe the abort.
      await turns.beginScoring().catch(() => {})
      gate.open()
      await Promise.all(tasks)
      if (!failure || signal?.aborted) throw error
    } finally {
      stop.unlink()
    }
    signal?.throwIfAborted()
    if (failure) throw failure.error
  }

  /** Splits the wanted samples into known outcomes and requests for the rest: one request per run of consecutive indices. */
  private divide(wanted: readonly { one: Attempt; indices: readonly number[] }[]) {
    const { journal, config, name, tokenizer } = this.options
    const sampling = samplingParams(config, tokenizer)
    const known: { one: Attempt; outcome: Outcome }[] = []
    const requests: GenerationRequest[] = []
    const byRequest = new Map<string, Attempt>()
    for (const { one, indices } of wanted) {
      const { ids, promptId, media } = one.prompt.sequence
      const missing: number[] = []
      for (const sample of indices) {
        const outcome = journal?.outcome({ promptId, sample })
        if (outcome) known.push({ one, outcome })
        else missing.push(sample)
      }
      for (const [i, first] of missing.entries()) {
        if (i > 0 && missing[i - 1] === first - 1) continue
        let n = 1
        while (missing[i + n] === first + n) n++
        const id = `${name}.${this.requests++}`
        byRequest.set(id, one)
        const seen = media.length === 0 ? {} : { media }
        const heard = one.prompt.audios ? { audios: one.prompt.audios } : {}
        requests.push({ id, promptId, promptIds: ids, ...seen, ...heard, n, firstSample: first, sampling })
      }
    }
    return { known, requests, byRequest }
  }

  /** Outcomes as they come. What the journal has of an episode is not run again. */
  private async *runEpisodes(rules: EpisodeRules, asked: readonly AskedOf[], signal: AbortSignal) {
    const { name, order, generator, journal, config, tokenizer } = this.options
    const sampling = { ...samplingParams(config, tokenizer), maxNewTokens: config.maxNewTokens }
    const world = episodeWorld(rules, { name, order, generator, sampling, journal, signal })
    try {
      for await (const { asked: of, outcome } of runEpisodes(world, asked, { signal }))
        yield { one: (of as AskedOf).one, outcome }
    } finally {
      await world.turns.close()
    }
  }

  /** The work of scoring a sample; undefined where the sample was lost. */
  private scoring(one: Attempt, outcome: Outcome | EpisodeOutcome, context: Scoring): Promise<void> | undefined {
    // No prompt with an image would ever be answered.
    if (outcome.kind === 'rejected' && outcome.reason === 'media-unsupported')
      throw new InputError(`the generator cannot answer this prompt: ${outcome.message}`)
    const media = this.mediaOf(one.prompt)
    const rolled = () => rolledOut(outcome, one.prompt, { tokenizer: this.options.tokenizer, media })
    const lost = lossOf(outcome) ?? episodeLoss(outcome, rolled, this.mediaTokens)
    if (!lost) return this.score(one, rolled(), context)
    const { sample, stage, reason, message, of } = lost
    one.members.set(sample, 'lost')
    this.drop(one.prompt, sample, stage, reason, message)
    // A problem of the prompt is a problem of all its samples.
    if (of === 'prompt') one.state = 'refused'
    if (of === 'environment') this.faults.push(`${reason}: ${message}`)
    if (of === 'score') this.failures.push({ kind: 'failed', reason: 'threw', message, source: 'environment' })
    return undefined
  }

  private async score(one: Attempt, rolled: RolledOut, { gate, round, signal }: Scoring): Promise<void> {
    const { prompt } = one
    const { facts, sequences, turns, decode } = rolled
    const decoding = decode()
    gate.expect(decoding.then(({ input }) => input))
    const { input, texts } = await decoding
    const reward = await this.reward(input, gate, round, signal)
    if (reward.kind === 'failed') {
      one.members.set(facts.sample, 'lost')
      this.failures.push(reward)
      this.drop(prompt, facts.sample, 'reward', reward.reason, `${reward.source}: ${reward.message}`)
      return
    }
    const [sequence, ...further] = sequences
    one.members.set(facts.sample, {
      prompt,
      sequence: sequence!,
      ...(further.length > 0 ? { further } : {}),
      ...(turns ? { turns } : {}),
      sample: facts,
      texts,
      reward,
    })
  }

  /** What rewards see of the images, videos and sounds of a prompt: one copy for all its samples. */
  private mediaOf(prompt: EncodedPrompt): { media: readonly MediaItem[]; inputs: Partial<RewardInput> } {
    const { media } = prompt.sequence
    let found = this.media.get(prompt)
    if (!found) {
      found = promptMedia(media, prompt.given ?? { images: [], videos: [] })
      this.media.set(prompt, found)
    }
    const { images, videos } = found
    const inputs = {
      ...(images.length === 0 ? {} : { images }),
      ...(videos.length === 0 ? {} : { videos }),
      ...(prompt.audios ? { audios: prompt.audios } : {}),
    }
    return { media: found.media, inputs }
  }

  private async reward(
    input: RewardInput,
    gate: ModelGate,
    round: JournalledReward[],
    signal: AbortSignal,
  ): Promise<RewardOutcome> {
    const { rewards, journal } = this.options
    const { promptId, sample } = input
    const known = journal?.reward({ promptId, sample })
    if (known) return known
    const given = await rewards.enqueue(input, { signal, beforeModel: () => gate.wait(promptId, sample) })
    const outcome = this.options.environmentRewards === 'added' ? withEnvironmentReward(given, input) : given
    if (journal && rewards.asksModels) round.push({ promptId, sample, outcome })
    else await journal?.keepRewards([{ promptId, sample, outcome }])
    return outcome
  }

  private drop(prompt: EncodedPrompt, sample: number, stage: Dropped['stage'], reason: string, message: string): void {
    this.dropped.push({ promptId: prompt.sequence.promptId, sample, stage, reason, message })
  }

  /** Those of a group that have a reward and are not in the batch all the same. */
  private dropGroup(one: Attempt, reason: string, message: string): void {
    for (const [index, found] of one.members)
      if (found !== 'lost') this.drop(one.prompt, index, 'group', reason, message)
  }
}

const noRequests = { known: [], requests: [], byRequest: new Map<string, Attempt>() }

type AskedOf = AskedEpisode & { readonly one: Attempt }

/** In the order of prompts and samples: earlier ones start first. */
function askedEpisodes(wanted: readonly { one: Attempt; indices: readonly number[] }[]): AskedOf[] {
  return wanted.flatMap(({ one, indices }) => {
    const { sequence, messages = [], label, target } = one.prompt
    const task = { row: sequence.row, messages, label, target }
    return indices.map(sample => ({ one, task, promptId: sequence.promptId, sample }))
  })
}

/** By place and index, whichever came first. */
function inOrder(
  rewards: readonly JournalledReward[],
  wanted: readonly { one: Attempt }[],
): readonly JournalledReward[] {
  const places = new Map(wanted.map(({ one }, place) => [one.prompt.sequence.promptId, place]))
  return rewards.toSorted((a, b) => places.get(a.promptId)! - places.get(b.promptId)! || a.sample - b.sample)
}

function attempt(prompt: EncodedPrompt, first: number): Attempt {
  return { prompt, first, members: new Map(), state: 'open' }
}

/** The samples of smallest index, whichever came first. */
function wholeGroup({ members }: Attempt, size: number): ScoredSample[] {
  const scored = [...members].filter((entry): entry is [number, ScoredSample] => entry[1] !== 'lost')
  scored.sort(([a], [b]) => a - b)
  return scored.slice(0, size).map(([, sample]) => sample)
}
