/** Records of a rollout, so that an interrupted one can continue. */
import type { EpisodeJournal } from '../environment/index.js'
import type { RewardOutcome } from '../reward/index.js'
import type { Outcome } from '../rollout/index.js'
import type { EncodedPrompt } from './prompts.js'

/** What the models said of a sample. */
export interface Inference {
  /** Of the actor; undefined where its pass was left out. */
  readonly logprobs: Float32Array | undefined
  readonly entropies: Float32Array | undefined
  readonly refLogprobs: Float32Array | undefined
  readonly values: Float32Array | undefined
}

/** A sample by its prompt and its index. */
export interface SampleKey {
  readonly promptId: string
  readonly sample: number
}

export interface JournalledReward extends SampleKey {
  readonly outcome: RewardOutcome
}

export interface JournalledInference extends SampleKey {
  readonly inference: Inference
}

/**
 * Records one rollout. Recorded work is not repeated by the engine, the rewards or the models; new work is recorded at once. A
 * rollout is returned only after all its records are stored.
 */
export interface RolloutJournal extends EpisodeJournal {
  outcome(key: SampleKey): Outcome | undefined
  reward(key: SampleKey): RewardOutcome | undefined
  inference(key: SampleKey): Inference | undefined
  /** The prompts in the order they were taken, fresh ones of dynamic sampling after the others. */
  keepPrompt(prompt: EncodedPrompt): Promise<void>
  keepOutcome(outcome: Outcome): Promise<void>
  /** All or nothing: models scored them in the same batches, and would do so again. */
  keepRewards(rewards: readonly JournalledReward[]): Promise<void>
  keepInferences(inferences: readonly JournalledInference[]): Promise<void>
}
