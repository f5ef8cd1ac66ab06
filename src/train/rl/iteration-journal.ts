/**
 * The journal of one iteration: its prompts, every finished sample, rewards, model outputs, the batch, and each optimiser step.
 * Enough to recompute the batch without a model.
 */
import { setImmediate as pause } from 'node:timers/promises'
import type { EpisodeJournalRecord } from '../../environment/index.js'
import { restartedRecords } from '../../environment/records.js'
import type {
  EncodedPrompt,
  Inference,
  JournalledInference,
  JournalledReward,
  RolloutJournal,
  SampleKey,
} from '../../experience/index.js'
import type { KeptMedia, MediaStore } from '../../media/index.js'
import type { PolicyVersion } from '../../model/index.js'
import type { RewardOutcome } from '../../reward/index.js'
import type { Outcome } from '../../rollout/index.js'
import { type Journal, JournalError, type JournalRecord, RunError } from '../../run/index.js'
import type { SampleDigest } from './batch-digest.js'

/** A prompt as the engine got it. */
interface JournalledPrompt {
  readonly promptId: string
  readonly ids: Int32Array
  /** Its images and videos, whose pixels are beside the journal. */
  readonly media?: readonly KeptMedia[] | undefined
}

/** What an iteration was trained on. */
export interface RolloutRecord {
  readonly samples: readonly (SampleKey & SampleDigest)[]
  readonly klCoef: number
  /** Samples of an older policy were left out. */
  readonly oldestVersion?: PolicyVersion | undefined
}

interface UpdateRecord {
  /** Counts all optimiser steps of the run, from 1. */
  readonly step: number
  readonly model: 'critic' | 'policy'
  readonly epoch: number
  readonly places: readonly number[]
  /** `stopped`: the policy had moved too far, and no weight changed. */
  readonly outcome: 'done' | 'stopped'
}

interface EndRecord {
  /** Where training measured KL instead of the rollout. */
  readonly measuredKl?: { readonly kl: number; readonly samples: number }
}

export class IterationJournal implements RolloutJournal {
  readonly prompts: JournalledPrompt[] = []
  readonly updates: UpdateRecord[] = []
  rollout: RolloutRecord | undefined
  end: EndRecord | undefined
  private readonly promptIds = new Set<string>()
  private lastPrompt: Promise<void> = Promise.resolve()
  private readonly outcomes = new Map<string, Outcome>()
  private readonly rewards = new Map<string, RewardOutcome>()
  private readonly inferences = new Map<string, Inference>()
  private readonly episodes = new Map<string, EpisodeJournalRecord[]>()
  private ended = 0

  private constructor(
    private readonly journal: Journal,
    readonly iteration: number,
    private readonly store: MediaStore | undefined,
  ) {}

  /** With everything an earlier process left of this iteration. */
  static async open(journal: Journal, iteration: number, store?: MediaStore): Promise<IterationJournal> {
    const opened = new IterationJournal(journal, iteration, store)
    for (const { record } of await journal.read(iteration)) opened.take(record)
    return opened
  }

  get samples(): number {
    return this.outcomes.size + this.ended
  }

  /** Every sample of which there is an outcome, in the order they finished. */
  get keys(): SampleKey[] {
    return [...this.outcomes.values()].map(({ promptId, sample }) => ({ promptId, sample }))
  }

  outcome(key: SampleKey): Outcome | undefined {
    return this.outcomes.get(nameOf(key))
  }

  reward(key: SampleKey): RewardOutcome | undefined {
    return this.rewards.get(nameOf(key))
  }

  inference(key: SampleKey): Inference | undefined {
    return this.inferences.get(nameOf(key))
  }

  /** Every sample that is an episode, ended or not. */
  get episodeKeys(): SampleKey[] {
    return [...this.episodes.values()].map(([first]) => ({ promptId: first!.promptId, sample: first!.sample }))
  }

  episodeRecords(key: SampleKey): readonly EpisodeJournalRecord[] {
    return this.episodes.get(nameOf(key)) ?? []
  }

  async keepEpisode(record: EpisodeJournalRecord): Promise<void> {
    await this.append(record as EpisodeJournalRecord & Record<string, unknown>)
  }

  async keepPrompt({ sequence: { promptId, ids, media } }: EncodedPrompt): Promise<void> {
    if (this.promptIds.has(promptId)) return
    const { store } = this
    const kept = store ? Promise.all(media.map(item => store.keep(item))) : []
    // Pixels before the record that names them, and records in the order in which prompts were taken.
    const before = this.lastPrompt
    const written = Promise.all([kept, before.catch(() => {})]).then(([items]) =>
      this.append({ kind: 'prompt', promptId, ids, ...(items.length === 0 ? {} : { media: items }) }),
    )
    this.lastPrompt = written
    await written
  }

  async keepOutcome(outcome: Outcome): Promise<void> {
    const { promptId, sample } = outcome
    if (this.outcome({ promptId, sample })) return
    await this.append(outcomeRecord(outcome))
  }

  async keepRewards(rewards: readonly JournalledReward[]): Promise<void> {
    await this.append({ kind: 'rewards', rewards })
  }

  /** In several records, with pauses for others in between: they are used only where all are there. */
  async keepInferences(inferences: readonly JournalledInference[]): Promise<void> {
    const kept: Promise<void>[] = []
    for (let start = 0; start < inferences.length; start += 16) {
      kept.push(this.append({ kind: 'inferences', inferences: inferences.slice(start, start + 16) }))
      await pause()
    }
    await Promise.all(kept)
  }

  /** Before the first update: what it will be trained on. */
  async keepRollout(rollout: RolloutRecord): Promise<void> {
    await this.append({ kind: 'rollout', ...rollout })
  }

  async keepUpdate(update: UpdateRecord): Promise<void> {
    await this.append({ kind: 'update', ...update })
  }

  async keepEnd(end: EndRecord): Promise<void> {
    await this.append({ kind: 'end', ...end })
  }

  /**
   * A resumed run keeps this many updates: the weights of later ones are lost. Rewards and episodes that failed before there was a batch
   * are made again, because the reward or the environment may be fixed now.
   */
  async keepResumed({ updates }: { updates: number }): Promise<void> {
    const failed =
      !this.rollout &&
      ([...this.rewards.values()].some(({ kind }) => kind === 'failed') ||
        [...this.episodes.values()].some(restartedRecords))
    if (this.updates.length > updates || this.end || failed) await this.append({ kind: 'resumed', updates })
  }

  /** Whether there is an outcome, or a whole episode. */
  isSampled(key: SampleKey): boolean {
    return this.outcomes.has(nameOf(key)) || this.episodeRecords(key).some(({ kind }) => kind === 'episode')
  }

  private forgetFailures(): void {
    for (const [key, { kind }] of this.rewards) if (kind === 'failed') this.rewards.delete(key)
    for (const [key, records] of this.episodes) {
      const restarted = restartedRecords(records)
      if (!restarted) continue
      this.episodes.set(key, restarted)
      this.ended--
    }
  }

  private async append(record: Record<string, unknown> & { kind: string }): Promise<void> {
    this.take(record as JournalRecord)
    await this.journal.append(this.iteration, record as JournalRecord)
  }

  private take(record: JournalRecord): void {
    const one = record as unknown as Stored
    switch (one.kind) {
      case 'prompt':
        this.promptIds.add(one.promptId)
        this.prompts.push({ promptId: one.promptId, ids: one.ids, media: one.media })
        return
      case 'outcome': {
        const outcome = storedOutcome(one)
        this.outcomes.set(nameOf({ promptId: outcome.promptId, sample: outcome.sample }), outcome)
        return
      }
      case 'episode-opened':
      case 'turn':
      case 'call':
      case 'call-result':
      case 'attempt-failed':
      case 'episode': {
        const name = nameOf(one)
        const records = this.episodes.get(name) ?? []
        if (records.length === 0) this.episodes.set(name, records)
        records.push(one)
        if (one.kind === 'episode') this.ended++
        return
      }
      case 'rewards':
        // Ignore rewards whose sample was never persisted.
        for (const reward of one.rewards) if (this.isSampled(reward)) this.rewards.set(nameOf(reward), reward.outcome)
        return
      case 'inferences':
        for (const { inference, ...key } of one.inferences) this.inferences.set(nameOf(key), withAll(inference))
        return
      case 'rollout':
        this.rollout = { samples: one.samples, klCoef: one.klCoef, oldestVersion: one.oldestVersion }
        return
      case 'update': {
        const { kind: _, ...update } = one
        this.updates.push(update)
        return
      }
      case 'end':
        this.end = one.measuredKl ? { measuredKl: one.measuredKl } : {}
        return
      case 'resumed':
        this.updates.splice(one.updates)
        this.end = undefined
        if (!this.rollout) this.forgetFailures()
        return
      case 'changes':
        // Changed options of a resumed run from here on. Samples stay valid if only rewards changed.
        this.rewards.clear()
        this.rollout = undefined
        this.updates.length = 0
        this.end = undefined
        return
      default:
        throw new RunError(
          `iteration ${this.iteration}: the journal has a record of the kind "${record.kind}"; a newer version wrote it`,
        )
    }
  }
}

/**
 * What the journal has of an iteration and those after it, when a run goes on with it: the first iteration of which it has nothing, and the
 * last one whose batch was made.
 */
export async function begunBefore(journal: Journal, from: number): Promise<{ next: number; batched: number }> {
  let next = from
  for (const iteration of (await journal.iterations()).reverse()) {
    if (iteration < from) break
    try {
      const { prompts, rollout } = await IterationJournal.open(journal, iteration)
      if (prompts.length > 0) next = Math.max(next, iteration + 1)
      // Batches are made one after another.
      if (rollout) return { next, batched: iteration }
    } catch (error) {
      // The run says what is damaged when it comes to this iteration.
      if (!(error instanceof JournalError)) throw error
      return { next: Math.max(next, iteration + 1), batched: iteration }
    }
  }
  return { next, batched: from - 1 }
}

type Stored =
  | ({ kind: 'prompt' } & JournalledPrompt)
  | StoredOutcome
  | EpisodeJournalRecord
  | { kind: 'rewards'; rewards: readonly JournalledReward[] }
  | { kind: 'inferences'; inferences: readonly JournalledInference[] }
  | ({ kind: 'rollout' } & RolloutRecord)
  | ({ kind: 'update' } & UpdateRecord)
  | ({ kind: 'end' } & EndRecord)
  | { kind: 'resumed'; updates: number }
  | { kind: 'changes' }

/**
 * The `kind` of a sample is renamed, because the record has a `kind`. Prompt and index come first, to identify a damaged line.
 */
interface StoredOutcome {
  kind: 'outcome'
  promptId: string
  sample: number
  of: Outcome['kind']
  [field: string]: unknown
}

function outcomeRecord(outcome: Outcome): StoredOutcome {
  const { kind: of, promptId, sample, ...rest } = outcome
  // Texts are made again from the ids.
  const { text: _, ...kept } = rest as typeof rest & { text?: string }
  return { kind: 'outcome', promptId, sample, of, ...kept }
}

function storedOutcome({ kind: _, of, ...rest }: StoredOutcome): Outcome {
  const absent =
    of === 'completed'
      ? { stopReason: undefined, topLogprobs: undefined, promptLogprobs: undefined, text: undefined }
      : {}
  return { ...absent, ...rest, kind: of } as unknown as Outcome
}

/** Empty fields are not written. */
function withAll({ logprobs, entropies, refLogprobs, values }: Inference): Inference {
  return { logprobs, entropies, refLogprobs, values }
}

function nameOf({ promptId, sample }: SampleKey): string {
  return `${sample} ${promptId}`
}
