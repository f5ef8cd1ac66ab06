/** What a rollout leaves behind as it goes, so that one that was cut off is taken up again where it was. */
import type { RewardOutcome } from '../reward/index.js'
import type { Outcome } from '../rollout/index.js'
import type { EncodedPrompt } from './prompts.js'

/** What the models said of a sample. */
export interface Inference {
  /** Of the actor; undefined where its pass was left out. */
  readonly logprobs: Float32Array | undefined
  readonly entropy: Float32Array | undefined
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
 * Remembers one rollout. What it knows is not asked for again, neither of the engine nor of rewards or models; what is new is
 * handed to it the moment it is there. A rollout is not given out before everything handed over is kept.
 */
export interface RolloutJournal {
  outcome(key: SampleKey): Outcome | undefined
  reward(key: SampleKey): RewardOutcome | undefined
  inference(key: SampleKey): Inference | undefined
  /** The prompts in the order they were taken, fresh ones of dynamic sampling after the others. */
  keepPrompt(prompt: EncodedPrompt): Promise<void>
  keepOutcome(outcome: Outcome): Promise<void>
  /** Together or not at all: models were asked for all of them in the same batches, and would be again. */
  keepRewards(rewards: readonly JournalledReward[]): Promise<void>
  keepInferences(inferences: readonly JournalledInference[]): Promise<void>
}
