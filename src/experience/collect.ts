/**
 * From prompts to groups of scored samples: generation and rewards, at the same time, until every group is whole and the batch has
 * as many groups as were asked for.
 */
import { type CombinedReward, decodeRewardInput, type RewardComputationEngine } from '../reward/index.js'
import type { GenerationRequest, Generator, Outcome, Sample, SamplingParams } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import type { ExperienceConfig } from './config.js'
import { completeGroup, type GroupMember, selectGroups } from './dynamic-sampling.js'
import type { Dropped, SampleTexts } from './experience.js'
import type { Turns } from './model-turns.js'
import type { EncodedPrompt } from './prompts.js'
import { configuredOverlongPenalty } from './shaping.js'

/** A sample with its reward and the texts the reward saw. */
export interface ScoredSample {
  readonly prompt: EncodedPrompt
  readonly sample: Sample
  readonly texts: SampleTexts
  readonly reward: CombinedReward
}

/** Samples of one prompt, by index. */
export type ScoredGroup = readonly ScoredSample[]

export interface Collected {
  readonly groups: readonly ScoredGroup[]
  readonly dropped: readonly Dropped[]
  readonly rounds: number
  readonly missingGroups: number
  readonly seconds: { generation: number; reward: number }
  readonly rewardOverlap: number
}

export interface CollectOptions {
  readonly generator: Generator
  readonly rewards: RewardComputationEngine
  readonly tokenizer: Tokenizer
  readonly config: ExperienceConfig
  readonly turns: Turns
  /** Fresh prompts for groups that were dropped; undefined at its end. Without it their prompts are sampled again. */
  readonly nextPrompt: (() => Promise<EncodedPrompt | undefined>) | undefined
  readonly signal: AbortSignal | undefined
}

export function samplingParams(config: ExperienceConfig): SamplingParams {
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
  }
}

/** One attempt at a group: a prompt and the samples asked for, from `first` on. */
interface Attempt {
  readonly prompt: EncodedPrompt
  readonly first: number
  readonly members: Map<number, ScoredSample | 'lost'>
  /** `refused`: the prompt itself cannot be answered, however often it is tried. */
  state: 'open' | 'whole' | 'incomplete' | 'refused'
}

/** Further samples of a group that lost some, in all as many again as it should have. */
const samplesPerPlace = 2

export class Collector {
  private readonly dropped: Dropped[] = []
  private readonly seconds = { generation: 0, reward: 0 }
  private rewardMs = 0
  private overlappedMs = 0
  private requests = 0

  constructor(private readonly options: CollectOptions) {}

  async collect(prompts: readonly EncodedPrompt[]): Promise<Collected> {
    const { config } = this.options
    const { maxResampleRounds, dynamicSampling } = config
    const rounds: Attempt[][] = []
    let next = prompts.map(prompt => attempt(prompt, 0))
    for (;;) {
      rounds.push(next)
      await this.fill(next)
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
      ({ reward, sample }) => reward.reward + configuredOverlongPenalty(sample.responseIds.length, config),
    )
  }

  /** Samples and scores until each attempt is whole, or has lost too many. */
  private async fill(attempts: readonly Attempt[]): Promise<void> {
    const { nSamplesPerPrompt } = this.options.config
    for (const one of attempts) {
      if (!one.prompt.tooLong) continue
      one.state = 'refused'
      this.drop(one.prompt, 0, 'generation', 'prompt-too-long', `the prompt has ${one.prompt.ids.length} tokens`)
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
            : completeGroup({ members, nSamplesPerPrompt, maxSamples: samplesPerPlace * nSamplesPerPrompt })
        if (decision.kind === 'sample') wanted.push({ one, indices: decision.sampleIndices })
        else if (decision.kind === 'complete') one.state = 'whole'
        else {
          one.state = 'incomplete'
          this.dropGroup(one, 'group-incomplete', `${decision.lost} of its samples were lost`)
        }
      }
      if (wanted.length === 0) return
      await this.sample(wanted)
    }
  }

  /** Generates samples; each gets its reward while others still generate. */
  private async sample(wanted: readonly { one: Attempt; indices: readonly number[] }[]): Promise<void> {
    const { generator, config, turns, signal } = this.options
    await turns.beginGeneration()
    const sampling = samplingParams(config)
    const byRequest = new Map<string, Attempt>()
    const requests = wanted.map(({ one, indices }): GenerationRequest => {
      const id = `${this.requests++}`
      byRequest.set(id, one)
      const { ids, group } = one.prompt
      return { id, promptId: group, promptIds: ids, n: indices.length, firstSample: indices[0]!, sampling }
    })
    const stop = new AbortController()
    const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
    const scoring: Promise<void>[] = []
    const gate = new ModelGate(wanted.map(({ one }) => one.prompt.group))
    const calls: { start: number; end: number }[] = []
    const started = performance.now()
    let failure: { error: unknown } | undefined
    try {
      for await (const outcome of generator.generate(requests, { signal: both })) {
        signal?.throwIfAborted()
        if (failure) break
        const one = byRequest.get(outcome.requestId)!
        const sample = this.finished(one, outcome)
        if (!sample) continue
        const call = { start: performance.now(), end: Number.POSITIVE_INFINITY }
        calls.push(call)
        const task = this.score(one, sample, gate, both)
          .catch(error => {
            failure ??= { error }
            stop.abort()
          })
          .finally(() => {
            call.end = performance.now()
          })
        scoring.push(task)
      }
      const generated = performance.now()
      this.seconds.generation += (generated - started) / 1000
      await gate.arrived()
      await turns.beginScoring()
      gate.open()
      await Promise.all(scoring)
      this.seconds.reward += (performance.now() - generated) / 1000
      for (const { start, end } of calls) {
        this.rewardMs += end - start
        this.overlappedMs += Math.max(0, Math.min(end, generated) - start)
      }
    } catch (error) {
      stop.abort()
      // Who waits for a turn is let in, to find that it is over.
      await turns.beginScoring().catch(() => {})
      gate.open()
      await Promise.all(scoring)
      if (!failure || signal?.aborted) throw error
    }
    signal?.throwIfAborted()
    if (failure) throw failure.error
  }

  private finished(one: Attempt, outcome: Outcome): Sample | undefined {
    const { prompt } = one
    if (outcome.kind === 'completed' && outcome.finishReason !== 'abort') return outcome
    one.members.set(outcome.sample, 'lost')
    if (outcome.kind === 'completed')
      this.drop(prompt, outcome.sample, 'generation', 'aborted', 'the engine gave it up')
    else this.drop(prompt, outcome.sample, 'generation', outcome.reason, outcome.message)
    // What lies in the prompt lies in every sample of it.
    if (outcome.kind === 'rejected') one.state = 'refused'
    return undefined
  }

  private async score(one: Attempt, sample: Sample, gate: ModelGate, signal: AbortSignal): Promise<void> {
    const { rewards, tokenizer } = this.options
    const { prompt } = one
    const { messages, label, reference, row, group } = prompt
    const decoding = decodeRewardInput(tokenizer, {
      promptIds: sample.promptIds,
      responseIds: sample.responseIds,
      ...(messages ? { messages } : {}),
      ...(label === undefined ? {} : { label }),
      ...(reference === undefined ? {} : { reference }),
      row,
      finishReason: sample.finishReason,
      group,
      sample: sample.sample,
    })
    gate.expect(decoding)
    const input = await decoding
    const reward = await rewards.enqueue(input, { signal, beforeModel: () => gate.wait(group, sample.sample) })
    if (reward.kind === 'failed') {
      one.members.set(sample.sample, 'lost')
      this.drop(prompt, sample.sample, 'reward', reward.reason, `${reward.source}: ${reward.message}`)
      return
    }
    const { prompt: text, response, promptRaw, responseRaw } = input
    one.members.set(sample.sample, {
      prompt,
      sample,
      texts: { prompt: text, response, promptRaw, responseRaw },
      reward,
    })
  }

  private drop(prompt: EncodedPrompt, sample: number, stage: Dropped['stage'], reason: string, message: string): void {
    this.dropped.push({ group: prompt.group, sample, stage, reason, message })
  }

  /** Those of a group that have a reward and are not in the batch all the same. */
  private dropGroup(one: Attempt, reason: string, message: string): void {
    for (const [index, found] of one.members)
      if (found !== 'lost') this.drop(one.prompt, index, 'group', reason, message)
  }
}

/**
 * Where samples wait for local reward models until all of them are there, to go on by group and index: a model then sees the same
 * batches whatever came first.
 */
class ModelGate {
  private readonly places: ReadonlyMap<string, number>
  private readonly coming: Promise<unknown>[] = []
  private waiting: { place: number; sample: number; go: () => void }[] = []
  private opened = false

  constructor(groups: readonly string[]) {
    this.places = new Map(groups.map((group, place) => [group, place]))
  }

  expect(sample: Promise<unknown>): void {
    this.coming.push(sample.catch(() => {}))
  }

  /** Resolves when all that were expected had their turn to ask for their rewards. */
  async arrived(): Promise<void> {
    await Promise.all(this.coming)
  }

  wait(group: string, sample: number): Promise<void> {
    if (this.opened) return Promise.resolve()
    return new Promise(go => this.waiting.push({ place: this.places.get(group)!, sample, go }))
  }

  open(): void {
    this.opened = true
    this.waiting.sort((a, b) => a.place - b.place || a.sample - b.sample)
    for (const { go } of this.waiting.splice(0)) go()
  }
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
