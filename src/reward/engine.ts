/**
 * Rewards of samples: asks each source for the samples that need it, and makes one reward of what they say. The way of LightRFT's
 * engine of this name (gather, process, aggregate), with the difference that what fails is an outcome and never a 0.
 */
import { linkedController, onAbort } from '../errors/index.js'
import { aggregatorSource, type ScoredSample } from './aggregator.js'
import { copyInput } from './copy-input.js'
import { type Combination, type ResolvedRewards, type RewardEngineOptions, resolveRewards } from './engine-options.js'
import { RewardStoppedError } from './errors.js'
import type { RewardInput } from './input.js'
import type { FailedReward, RewardOutcome, ScoredReward, SourceOutcome } from './outcome.js'
import { entriesFor } from './recipe.js'
import { type AwayEvent, type QueueOptions, type SourceCounts, SourceQueue } from './source-queue.js'
import { type RewardSummary, summarizeRewards } from './summary.js'

export interface ComputeOptions {
  readonly signal?: AbortSignal
  /**
   * Waited for before a local model is asked for a sample. A model's last bits depend on what shares its batch: whoever wants
   * the same numbers every time lets samples through in an order of their own, not in that of their arrival.
   */
  readonly beforeModel?: (input: RewardInput) => Promise<void>
}

export interface RewardBatch {
  /** One per input, in their order. */
  readonly outcomes: readonly RewardOutcome[]
  readonly summary: RewardSummary
}

/** What is asked of one source for a sample. */
interface Need {
  readonly queue: SourceQueue<RewardInput>
  readonly weight: number
}

/**
 * @example
 * const engine = new RewardComputationEngine({
 *   sources: [numericAnswer(), format()],
 *   weights: { 'numeric-answer': 0.9, format: 0.1 },
 * })
 * const { outcomes, summary } = await engine.compute(inputs)
 */
export class RewardComputationEngine {
  private readonly rewards: ResolvedRewards
  private readonly queues: ReadonlyMap<string, SourceQueue<RewardInput>>
  private readonly aggregator: SourceQueue<ScoredSample> | undefined

  constructor(readonly options: RewardEngineOptions) {
    this.rewards = resolveRewards(options)
    const { sources, combination, blockedMs } = this.rewards
    const queueOptions: QueueOptions = {
      blockedMs,
      random: Math.random,
      onLate: options.onLate ?? (() => {}),
      onBlocked: options.onBlocked ?? warnOfBlocking,
      onAway: options.onAway ?? warnOfAbsence,
      patienceMs: this.rewards.patienceMinutes * 60_000,
    }
    this.queues = new Map(
      sources.map(source => {
        // Functions are other people's code: they get copies.
        const copies = source.kind === 'function' && !source.isolated ? { copy: copyInput } : {}
        return [source.name, new SourceQueue(source, { ...queueOptions, ...copies })]
      }),
    )
    if (combination.kind === 'aggregator') {
      const { rewardFn, labelMap } = combination
      this.aggregator = new SourceQueue(aggregatorSource(rewardFn, labelMap), {
        ...queueOptions,
        copy: ({ input, scores }) => ({ input: copyInput(input), scores }),
      })
    }
  }

  /** What each source was asked and how it went, by name. */
  get counts(): Readonly<Record<string, Readonly<SourceCounts>>> {
    const all = [...this.queues.values(), ...(this.aggregator ? [this.aggregator] : [])]
    return Object.fromEntries(all.map(({ source, counts }) => [source.name, { ...counts }]))
  }

  /** Whether a local model is among the sources: what it says depends in its last bits on what shares its batch. */
  get asksModels(): boolean {
    return this.rewards.sources.some(({ model }) => model !== undefined)
  }

  /** Throws for a label that no recipe is for: to be called before anything is generated. */
  checkLabels(labels: Iterable<string | undefined>): void {
    const { combination } = this.rewards
    const recipe = combination.kind === 'weights' ? undefined : combination.recipe
    if (recipe) for (const label of new Set(labels)) entriesFor(recipe, label)
  }

  /**
   * Why no reward can be given to samples of a row, whatever they say: no recipe for its label, or no target where one is
   * compared with. Undefined where there is nothing wrong. To be asked about all data before anything is generated.
   */
  rowProblem({ label, target }: Pick<RewardInput, 'label' | 'target'>): string | undefined {
    try {
      this.checkLabels([label])
    } catch (error) {
      return (error as Error).message
    }
    if (target !== undefined && target.length > 0) return undefined
    const comparing = this.needs(label).find(({ queue }) => queue.source.needsTarget)
    if (!comparing) return undefined
    return `reward "${comparing.queue.source.name}" needs a target, and the row has none; add the column target, or name the column of the target`
  }

  /** The rewards of a batch. Rejects where it is aborted, a label has no recipe, or `onRewardFailure` is `stop` and one failed. */
  async compute(inputs: readonly RewardInput[], options: ComputeOptions = {}): Promise<RewardBatch> {
    options.signal?.throwIfAborted()
    this.checkLabels(inputs.map(input => input.label))
    const stop = linkedController([options.signal])
    const { signal } = stop
    try {
      // All of them first: an aggregator then sees the whole batch in one call.
      const parts = await Promise.all(inputs.map(input => this.gather(input, { ...options, signal })))
      const outcomes = await Promise.all(inputs.map((input, i) => this.aggregate(input, parts[i]!, signal)))
      options.signal?.throwIfAborted()
      return { outcomes, summary: summarizeRewards(outcomes) }
    } finally {
      // What is still running is not wanted: `stop` found a failure, or all is done.
      stop.abort()
      stop.unlink()
    }
  }

  /** The reward of one sample, asked for together with others that arrive meanwhile. */
  async enqueue(input: RewardInput, options: ComputeOptions = {}): Promise<RewardOutcome> {
    options.signal?.throwIfAborted()
    this.checkLabels([input.label])
    const outcome = await this.aggregate(input, await this.gather(input, options), options.signal)
    options.signal?.throwIfAborted()
    return outcome
  }

  /**
   * Rewards as each is there, of samples as each arrives: what a generator yields can be handed on as it is.
   *
   * @example
   * for await (const { input, outcome } of engine.stream(samples)) keep(input, outcome)
   */
  async *stream(
    inputs: AsyncIterable<RewardInput> | Iterable<RewardInput>,
    options: ComputeOptions = {},
  ): AsyncGenerator<{ input: RewardInput; outcome: RewardOutcome }, void, undefined> {
    const stop = linkedController([options.signal])
    const { signal } = stop
    const ready: { input: RewardInput; outcome: RewardOutcome }[] = []
    let wake = () => {}
    let failure: { error: unknown } | undefined
    let exhausted = false
    let open = 1
    const settle = () => {
      open--
      wake()
    }
    const fail = (error: unknown) => {
      failure ??= { error }
    }
    const source = Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]()
    const take = async () => {
      for (let next = await source.next(); !next.done; next = await source.next()) {
        if (signal.aborted || failure) return
        const input = next.value
        open++
        this.enqueue(input, { signal })
          .then(outcome => ready.push({ input, outcome }), fail)
          .finally(settle)
      }
      exhausted = true
    }
    take().catch(fail).finally(settle)
    // Where nothing is asked for yet and nothing arrives, nobody else would notice.
    const stopListening = onAbort(signal, () => wake())
    try {
      while (true) {
        if (failure) throw failure.error
        options.signal?.throwIfAborted()
        yield* ready.splice(0)
        if (open === 0 && ready.length === 0 && !failure) return
        if (ready.length > 0 || failure) continue
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    } finally {
      stopListening()
      stop.abort()
      stop.unlink()
      // Not waited for: a generator that hangs ends when it can.
      if (!exhausted) Promise.resolve(source.return?.()).catch(() => {})
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.rewards.sources.map(source => source.close?.()))
    await this.aggregator?.source.close?.()
  }

  private needs(label: string | undefined): Need[] {
    return needsOf(this.rewards.combination, label, [...this.queues.keys()]).map(({ name, weight }) => ({
      queue: this.queues.get(name)!,
      weight,
    }))
  }

  /** What the sources say of a sample, by name: only those are asked that its reward is made of. */
  private async gather(input: RewardInput, { signal, beforeModel }: ComputeOptions): Promise<Parts> {
    const needs = this.needs(input.label)
    const { onRewardFailure, failureRetries } = this.rewards
    const ask = async ({ queue }: Need): Promise<SourceOutcome> => {
      if (beforeModel && queue.source.model) await beforeModel(input)
      for (let again = 0; ; again++) {
        const outcome = await queue.submit(input, signal)
        if (outcome.kind === 'scored' || outcome.reason === 'aborted') return outcome
        if (onRewardFailure === 'stop') throw new RewardStoppedError(outcome, input)
        // A sample that lacks something will lack it the next time too.
        if (onRewardFailure === 'drop' || outcome.reason === 'input' || again >= failureRetries) return outcome
      }
    }
    const outcomes = await Promise.all(needs.map(ask))
    return needs.map(({ queue, weight }, i) => ({ name: queue.source.name, weight, outcome: outcomes[i]! }))
  }

  private async aggregate(input: RewardInput, parts: Parts, signal?: AbortSignal): Promise<RewardOutcome> {
    const failure = parts.find(({ outcome }) => outcome.kind === 'failed')
    if (failure) return failure.outcome as FailedReward
    const scored = parts as readonly (Parts[number] & { outcome: ScoredReward })[]
    const components = Object.fromEntries(scored.map(({ name, outcome }) => [name, outcome.reward]))
    const { combination, onRewardFailure } = this.rewards
    if (combination.kind !== 'aggregator') return weighted(scored, components)
    // What was not asked for is NaN: an aggregator that uses it all the same gets a failure, not a reward.
    const scores = new Array<number>(this.queues.size).fill(Number.NaN)
    for (const { name, outcome } of scored) scores[combination.labelMap[name]!] = outcome.reward
    const outcome = await this.aggregator!.submit({ input, scores }, signal)
    if (outcome.kind === 'scored') return { ...outcome, components, metrics: outcome.metrics ?? {} }
    if (onRewardFailure === 'stop' && outcome.reason !== 'aborted') throw new RewardStoppedError(outcome, input)
    return outcome
  }
}

type Parts = readonly { readonly name: string; readonly weight: number; readonly outcome: SourceOutcome }[]

function needsOf(
  combination: Combination,
  label: string | undefined,
  names: readonly string[],
): { name: string; weight: number }[] {
  const recipe = combination.kind === 'weights' ? undefined : combination.recipe
  const all = recipe
    ? entriesFor(recipe, label).map(([, name, weight]) => ({ name, weight }))
    : names.map(name => ({ name, weight: combination.kind === 'weights' ? combination.weights.get(name)! : 1 }))
  return all.filter(({ weight }) => weight !== 0)
}

function weighted(
  parts: readonly { name: string; weight: number; outcome: ScoredReward }[],
  components: Readonly<Record<string, number>>,
): RewardOutcome {
  const reward = parts.reduce((sum, { weight, outcome }) => sum + weight * outcome.reward, 0)
  const source = parts.map(({ name }) => name).join(' + ')
  if (!Number.isFinite(reward))
    return { kind: 'failed', reason: 'non-finite', message: `the weighted sum is ${reward}`, source }
  const metrics = Object.fromEntries(
    parts.flatMap(({ name, outcome }) =>
      // With one source its names are its own; with several, two may have the same.
      Object.entries(outcome.metrics ?? {}).map(([key, value]) => [parts.length > 1 ? `${name}/${key}` : key, value]),
    ),
  )
  return { kind: 'scored', reward, components, metrics }
}

function warnOfAbsence({ message }: AwayEvent): void {
  process.emitWarning(message, { type: 'RewardWarning', code: 'REWARD_AWAY' })
}

function warnOfBlocking({ source, blockedMs }: { source: string; blockedMs: number }): void {
  process.emitWarning(
    `reward "${source}" blocked the event loop for ${Math.round(blockedMs)} ms in one call; nothing else runs during that time, ` +
      'also not generation or other rewards. Make it asynchronous, or move the work to a worker or a server.',
    { type: 'RewardWarning', code: 'REWARD_BLOCKS_EVENT_LOOP' },
  )
}
