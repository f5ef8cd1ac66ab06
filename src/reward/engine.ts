/**
 * Rewards of samples: calls each source with the samples that need it, and combines the results. It follows the engine of the
 * same name in LightRFT (gather, process, aggregate), but a failure is an outcome and never a 0.
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
   * Awaited before a local model scores a sample. The last bits of a score depend on the batch: for reproducible numbers, admit
   * samples in a fixed order, not in the order of arrival.
   */
  readonly beforeModel?: (input: RewardInput) => Promise<void>
}

export interface RewardBatch {
  /** One per input, in their order. */
  readonly outcomes: readonly RewardOutcome[]
  readonly summary: RewardSummary
}

/** The call of one source for a sample. */
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
        // User functions get copies.
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

  /** Calls and results of each source, by name. */
  get counts(): Readonly<Record<string, Readonly<SourceCounts>>> {
    const all = [...this.queues.values(), ...(this.aggregator ? [this.aggregator] : [])]
    return Object.fromEntries(all.map(({ source, counts }) => [source.name, { ...counts }]))
  }

  /** Whether a source is a local model: its last bits depend on the batch. */
  get asksModels(): boolean {
    return this.rewards.sources.some(({ model }) => model !== undefined)
  }

  /** Throws for a label without a recipe; call it before generation. */
  checkLabels(labels: Iterable<string | undefined>): void {
    const { combination } = this.rewards
    const recipe = combination.kind === 'weights' ? undefined : combination.recipe
    if (recipe) for (const label of new Set(labels)) entriesFor(recipe, label)
  }

  /**
   * Why samples of a row can never get a reward: no recipe for its label, no target for a rule that needs one, or columns that do not fit
   * the schema of a reward. Undefined if there is no problem. Call it for all data before generation.
   */
  rowProblem({ label, target, row }: Pick<RewardInput, 'label' | 'target'> & { row?: unknown }): string | undefined {
    try {
      this.checkLabels([label])
    } catch (error) {
      return (error as Error).message
    }
    for (const { queue } of this.needs(label)) {
      const { name, needsTarget, rowProblem } = queue.source
      if (needsTarget && (target === undefined || target.length === 0))
        return `reward "${name}" needs a target, and the row has none; add the column target, or name the column of the target`
      const problem = row === undefined ? undefined : rowProblem?.(row)
      if (problem !== undefined) return `reward "${name}": ${problem}`
    }
    return undefined
  }

  /** The rewards of a batch. Rejects if it is aborted, a label has no recipe, or `onRewardFailure` is `stop` and one failed. */
  async compute(inputs: readonly RewardInput[], options: ComputeOptions = {}): Promise<RewardBatch> {
    options.signal?.throwIfAborted()
    this.checkLabels(inputs.map(input => input.label))
    const stop = linkedController([options.signal])
    const { signal } = stop
    try {
      // Collect all of them first, so that an aggregator gets the whole batch in one call.
      const parts = await Promise.all(inputs.map(input => this.gather(input, { ...options, signal })))
      const outcomes = await Promise.all(inputs.map((input, i) => this.aggregate(input, parts[i]!, signal)))
      options.signal?.throwIfAborted()
      return { outcomes, summary: summarizeRewards(outcomes) }
    } finally {
      // Abort running calls: `stop` found a failure, or everything is done.
      stop.abort()
      stop.unlink()
    }
  }

  /** The reward of one sample; samples that arrive during a call are batched. */
  async enqueue(input: RewardInput, options: ComputeOptions = {}): Promise<RewardOutcome> {
    options.signal?.throwIfAborted()
    this.checkLabels([input.label])
    const outcome = await this.aggregate(input, await this.gather(input, options), options.signal)
    options.signal?.throwIfAborted()
    return outcome
  }

  /**
   * Streams rewards of samples as they arrive; takes the outcomes of a generator directly.
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
    // If no call is running and no sample arrives, nothing else would notice the abort.
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
      // Not awaited: a hanging generator ends when it can.
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

  /** Outputs of the sources for a sample, by name; only the sources of its recipe are called. */
  private async gather(input: RewardInput, { signal, beforeModel }: ComputeOptions): Promise<Parts> {
    const needs = this.needs(input.label)
    const { onRewardFailure, failureRetries } = this.rewards
    const ask = async ({ queue }: Need): Promise<SourceOutcome> => {
      if (beforeModel && queue.source.model) await beforeModel(input)
      for (let again = 0; ; again++) {
        const outcome = await queue.submit(input, signal)
        if (outcome.kind === 'scored' || outcome.reason === 'aborted') return outcome
        if (onRewardFailure === 'stop') throw new RewardStoppedError(outcome, input)
        // Do not retry a sample that lacks an input.
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
    // Values that were not requested are NaN: an aggregator that uses one gets a failure, not a reward.
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
